// What every calibration binary does around its work: flags, errors, signals, exit codes.
#pragma once
#include "calibrate/measure/options.h"

namespace stepsight::calibrate {

// Parses the flags, prints the help or the list, or measures. Exit code 0; 2 with one line on
// stderr for a UserError (bad flag, no GPU, an error of the driver or a library); 70 for anything
// else; 130 when interrupted, the points measured until then being in the file.
int run_main(const Tool& tool,
             int argc,
             char** argv,
             void (*list)(const Options&),
             void (*measure)(const Tool&, const Options&));

// True once SIGINT or SIGTERM has come: finish the point in hand, write the file, return.
bool interrupted();

}  // namespace stepsight::calibrate
