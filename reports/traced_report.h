// Predictions for a user's own traced step, for people and for machines.
#pragma once
#include <string>
#include <vector>

#include "model/profile.h"
#include "model/traced_step.h"
#include "reports/waterfall_report.h"
#include "reports/words.h"
#include "simulate/traced_prediction.h"

namespace stepsight {

struct TracedReport {
  std::string title;
  TracedStep step;
  std::vector<std::string> axes;                      // keys given as arrays
  std::vector<std::vector<std::string>> coordinates;  // [point][axis]: the values, as written
  std::vector<TracedPoint> points;                    // at least one
  std::vector<std::string> notes;
  std::optional<StepsBetween> between;  // the first and the last point, if asked
  std::vector<Lever> levers;            // of the last point, if asked
  bool levers_asked = false;
  std::int64_t batch = 0;               // samples of each GPU in a step; 0 = not said, no samples/s
};

// Kernels of a part of the step, as traced.
double kernel_seconds(const TracedStep& step, StepPart part);
double samples_per_s(const TracedReport& report, const StudyPoint& point);

// `gpu` is the card of the last point, which the text explains.
std::string traced_text(const TracedReport& report,
                        const GpuProfile& gpu,
                        const Words& words = Words());
// {"schema": 1, "title", "trace": {...}, "axes", "points": [...], "notes"}; times in seconds, sizes
// in bytes, null for what the trace does not say.
std::string traced_json(const TracedReport& report);
// One row a point, with a header.
std::string traced_csv(const TracedReport& report);

}  // namespace stepsight
