// The host of the machine that made a table of runs, from a few of its rows.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "model/io/runs_csv.h"

namespace stepsight {

struct HostCalibration {
  double factor = 1;           // on all host times of the profile
  std::set<std::string> rows;  // ids that it was fitted on; no error is reported on them
};

// From `count` rows spread evenly over those that can be predicted, complete and without a flag;
// their id begins with `only`. UserError where they are of several sources or cards, because one
// factor stands for one machine, or where no more than `count` are left to judge it by.
HostCalibration calibrate_host(const std::vector<MeasuredRun>& runs,
                               const std::string& only,
                               std::size_t count);

}  // namespace stepsight
