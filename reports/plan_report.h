// Plans for people (80 columns) and for machines.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/quantiles.h"
#include "reports/words.h"
#include "simulate/plan.h"
#include "simulate/predict.h"

namespace stepsight {

struct PlanReport {
  std::string title;
  std::string source;  // what `predict` is asked for to look closer: a file, or flags
  const PlanSpace& space;
  const PlanResult& result;
  std::vector<Prediction> predictions;      // of each group's best
  std::vector<Quantiles> steps;             // likewise: its step with the interval
  std::vector<std::optional<Money>> money;  // likewise, with that interval
  std::function<const GpuProfile&(const std::string&)> profile_of;
};

std::string plan_text(const PlanReport& report, const Words& words);
std::string plan_json(const PlanReport& report);
// Every candidate and what became of it, a row each.
std::string candidates_csv(const PlanReport& report);

// "tp4 pp2 dp1 zero1": what a candidate is, in the field's abbreviations.
std::string plan_words(const PlanSpace& space, const PlanCandidate& candidate);

}  // namespace stepsight
