// What the log of a training run says: its steady steps, warm-up and stalls, facts, and what was
// not read of it.
#pragma once
#include <optional>
#include <string>

#include "model/steady_window.h"
#include "model/step_log.h"

namespace stepsight {

struct LogReport {
  StepLog log;
  std::optional<SteadyWindow> window;
};

std::string log_text(const LogReport& report);
std::string log_json(const LogReport& report);
// One row a step: step,covers,seconds,data_seconds,rate,loss,phase (warm-up, steady or stall).
std::string log_csv(const LogReport& report);

}  // namespace stepsight
