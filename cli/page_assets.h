// What only reports need and only the launcher builds: the chart library, and the simulator for the
// page.
#pragma once
#include <string>

#include "reports/html_page.h"

namespace stepsight {

struct WebFiles {
  std::string chart_library;  // each empty where it is not there
  std::string program;        // of WhatIf, and its code
  std::string code;
  [[nodiscard]] bool can_compute() const { return !program.empty() && !code.empty(); }
};

// From $STEPSIGHT_WEB, or the folder `web` of the build that the program stands in.
WebFiles read_web_files();

}  // namespace stepsight
