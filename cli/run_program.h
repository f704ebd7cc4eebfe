// Runs another program and waits for it.
#pragma once
#include <string>
#include <vector>

namespace stepsight {

struct ProgramRun {
  int exit_code = -1;  // 128 + signal when a signal ended it; 127 when it could not be started
  double seconds = 0;
  std::string said;  // the last lines of its standard error
};

// argv[0] is a path, or a name looked up in PATH. Standard output goes nowhere, standard error is
// kept. std::logic_error for an empty argv.
ProgramRun run_program(const std::vector<std::string>& argv);

}  // namespace stepsight
