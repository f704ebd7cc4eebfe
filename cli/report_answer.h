// Everything that a scenario's report shows, asked of the simulator: what `report` and the page's
// own program have in common.
#pragma once
#include <string>
#include <vector>

#include "cli/profiles.h"
#include "cli/scenario_flags.h"
#include "model/io/scenario_file.h"
#include "reports/scenario_page.h"

namespace stepsight {

// Every point of the file predicted, and the curve and timeline of the one that the report
// explains. `notes`: on what was chosen for the user.
ScenarioReport answer_report(const ScenarioFile& file,
                             Profiles& profiles,
                             std::vector<std::string> notes);

// The same for a question as it is asked, with the text and the command line to ask it again.
ScenarioReport answer_report(ScenarioFlags flags, Profiles& profiles);

}  // namespace stepsight
