// What a page's controls change, and what the page needs to compute for them.
#pragma once
#include <optional>
#include <string>

#include "cli/page_assets.h"
#include "cli/scenario_flags.h"
#include "reports/html_page.h"
#include "simulate/study.h"

namespace stepsight {

// Nothing for a scenario that reads files which the page cannot carry: a Hugging Face config or a topology.
std::optional<WhatIf> what_if_of(const ScenarioFlags& flags,
                                 const std::string& scenario_text,
                                 const StudyPoint& focus,
                                 const GpuProfile& gpu,
                                 const WebFiles& web,
                                 const Words& words);

}  // namespace stepsight
