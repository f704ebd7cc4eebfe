// Charts as static SVG, coloured by the page's style sheet: what a report shows without JavaScript,
// and all it shows of a step's timeline.
#pragma once
#include <string>

#include "reports/document.h"
#include "reports/words.h"
#include "simulate/step_trace.h"

namespace stepsight {

std::string chart_svg(const Chart& chart);

// The steady step, a row a track: neighbours closer than a pixel are drawn as one. Of many pipeline
// stages only their compute.
std::string timeline_svg(const StepTrace& trace,
                         const std::string& description,
                         const Words& words);

}  // namespace stepsight
