// The model's own error as a file: errors/model_error.toml, built in, written by `stepsight fit
// --model-error`.
//
//   schema = 1
//   rows = 1700                     # measured runs behind it
//   groups = 40                     # of one source and card each
//   held_out_coverage = 0.9         # of 90 % intervals, each group's learnt on the others
//   sources = ["runs.csv"]
//   low = -1.2                      # 5 % and 95 % quantiles of log(measured / predicted), in
//   scales high = 1.9 [sd]                            # by term (model/model_error.h) host = 0.3
//   [ratio]                         # of two steps
//   sd = 0.03
//   low = -1.5
//   high = 1.5
#pragma once
#include <string>

#include "model/model_error.h"

namespace stepsight {

// The one in $STEPSIGHT_DATA or ./scenarios, else the one built in. UserError with every mistake.
ModelError read_model_error();
ModelError read_model_error_text(const std::string& path, const std::string& text);

std::string model_error_text(const ModelError& error);

}  // namespace stepsight
