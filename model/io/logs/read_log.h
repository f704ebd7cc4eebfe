// A training run's log, whatever wrote it: every reader looks at every line, the one that found
// most steps gives them, and the facts and timers that the others found stay beside.
#pragma once
#include <string>
#include <string_view>

#include "model/step_log.h"

namespace stepsight {

// Streams the file (plain or gzip): memory does not grow with it. UserError when it cannot be read,
// or when nothing in it is a step, a timer, a table of results or the summary of a run; the message
// names the formats that are known.
StepLog read_step_log(const std::string& path);
// The same of a text; `file` is for messages.
StepLog read_step_log_text(const std::string& file, std::string_view text);

}  // namespace stepsight
