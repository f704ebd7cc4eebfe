// `predict` for a user's own traced step in place of a model.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/io/scenario_file.h"

namespace stepsight {

struct TraceQuestion {
  std::string trace;                       // file
  std::string scenario;                    // file, or empty: the flags alone
  std::vector<KeyFlag> keys;               // without the model's
  std::optional<std::int64_t> parameters;  // where the trace does not record shapes
  std::string output;
  bool json = false;
  bool csv = false;
  std::string language = "en";
  std::vector<std::string> notes;  // on what was chosen for the user
  bool levers = false;             // what would make the last point faster
  bool between = false;            // how the steps of the first and the last point differ, too
};

void predict_trace(const TraceQuestion& question);

}  // namespace stepsight
