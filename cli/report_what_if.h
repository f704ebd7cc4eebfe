// What a page's controls change, and what the page needs to compute for them.
#pragma once
#include <optional>

#include "cli/page_assets.h"
#include "cli/scenario_flags.h"
#include "model/io/files_read.h"
#include "reports/html_page.h"

namespace stepsight {

// `flags` asked the question, `focus` is the point that the page explains, `files` were read for
// both. Nothing where they are more than a page can carry.
std::optional<WhatIf> what_if_of(const ScenarioFlags& flags,
                                 const Scenario& focus,
                                 Profiles& profiles,
                                 const FilesRead& files,
                                 const WebFiles& web,
                                 const Words& words);

}  // namespace stepsight
