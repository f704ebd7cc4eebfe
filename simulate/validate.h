// Predicted against measured: the error of each point and its summary over all and by group.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/quantiles.h"

namespace stepsight {

struct ValidationPoint {
  std::string id;
  std::map<std::string, std::string> groups;  // "source" -> "...", "gpu", "model", "table"
  double measured_s = 0;
  double predicted_s = 0;
  bool host_bound = false;
  // Bytes that the framework gave out at most; 0: the row does not say.
  double measured_peak = 0;
  double predicted_peak = 0;
  Quantiles interval{};    // of the step, in seconds; p50 = 0: none was asked for
  bool undoubted = false;  // the row is complete and carries no flag
  // Communication of a step that no kernel hides, in seconds; of one GPU, or where the row does not
  // say, nothing.
  std::optional<double> measured_exposed_s;
  double predicted_exposed_s = 0;
  std::int64_t gpus = 1;
  std::string work;  // what a GPU does in a step: rows with the same text scale weakly from one to
                     // the other

  [[nodiscard]] double error() const { return predicted_s / measured_s - 1; }
  // Precondition: measured_peak > 0.
  [[nodiscard]] double memory_error() const { return predicted_peak / measured_peak - 1; }
  [[nodiscard]] bool covered() const {
    return interval.p5 <= measured_s && measured_s <= interval.p95;
  }
};

struct ErrorSummary {
  std::size_t n = 0;
  double mape = 0;  // mean of |error|
  double median_ape = 0;
  double p90_ape = 0;
  double worst_ape = 0;
  double bias = 0;  // mean of error
  // Of the undoubted points with an interval: how many there are, the share whose 90 % interval
  // holds what was measured, and the middle of (p95 - p5) / p50.
  std::size_t intervals = 0;
  double coverage90 = 0;
  double median_width = 0;
};

ErrorSummary summarise(const std::vector<const ValidationPoint*>& points);
// Of the peak memory, over the points that say it.
ErrorSummary summarise_memory(const std::vector<const ValidationPoint*>& points);

// A row of several GPUs and the row of one GPU with the same work for each: weak scaling.
struct ScalingPair {
  const ValidationPoint* one = nullptr;
  const ValidationPoint* many = nullptr;

  // T1 / TN.
  [[nodiscard]] double measured() const { return one->measured_s / many->measured_s; }
  [[nodiscard]] double predicted() const { return one->predicted_s / many->predicted_s; }
};

// Each row of several GPUs with the first row of one GPU that has its work; one of its own table
// (groups "table") comes before others. The points must live on.
std::vector<ScalingPair> scaling_pairs(const std::vector<ValidationPoint>& points);

// How far predictions of something that is no time of a whole step lie from what was measured.
struct Agreement {
  std::size_t n = 0;
  std::size_t within = 0;  // of the tolerance
  double median = 0;       // of |predicted - measured|
  double worst = 0;
};

// Of the exposed communication, seconds; within: 10 % or 1 ms.
Agreement exposed_agreement(const std::vector<const ValidationPoint*>& points);
// Of the efficiency, 1 = as fast as one GPU; within: 0.02.
Agreement efficiency_agreement(const std::vector<ScalingPair>& pairs);

// The host of the machine behind the rows, fitted on a few of them.
struct FittedHost {
  double factor = 1;  // on the profile's host times
  std::vector<std::string>
      rows;  // that it was fitted on, which are not among the points; empty = not fitted
};

struct Validation {
  FittedHost host;
  std::size_t rows = 0;
  std::map<std::string, std::size_t> refused;  // reason -> rows
  std::vector<ValidationPoint> points;

  [[nodiscard]] ErrorSummary all() const;
  [[nodiscard]] ErrorSummary memory() const;
  [[nodiscard]] Agreement exposed() const;
  [[nodiscard]] Agreement efficiency() const;
  // One group's values with their summaries, for "source", "gpu", "model" or "table".
  [[nodiscard]] std::map<std::string, ErrorSummary> by(const std::string& group) const;
};

}  // namespace stepsight
