// What a report page computes anew when one of its controls moves. The page's own program (cli/web)
// is this, compiled to WebAssembly, behind one exported function.
#pragma once
#include <string>

#include "cli/profiles.h"
#include "cli/scenario_flags.h"

namespace stepsight {

// The parts of the page that change (reports/html_page.h), {"verdict", "question", "html"}; or
// {"error"}, what the program would say of a mistake in the question.
std::string page_answer(const ScenarioFlags& flags,
                        const std::string& language,
                        Profiles& profiles);

// What `report --json` writes for the same question, or {"error"}.
std::string page_answer_json(const ScenarioFlags& flags,
                             const std::string& language,
                             Profiles& profiles);

}  // namespace stepsight
