// `stepsight fit --runs`: a machine's own inputs from a person's few measured runs.
#pragma once
#include <string>
#include <vector>

namespace stepsight {

struct FitRunsQuestion {
  std::vector<std::string> files;  // tables of measured runs
  std::string gpu;                 // profile
  std::string output;              // refined profile; empty: none
  bool json = false;
};

// Prints what the runs say. Writes the profile as they refine it and, beside it, a file for each
// link of theirs that the profile has no curves of: OUTPUT-LINK.toml, for --link. UserError where
// fewer than two rows can be predicted.
void fit_runs(const FitRunsQuestion& question);

}  // namespace stepsight
