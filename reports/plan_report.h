// Plans for people (80 columns) and for machines.
#pragma once
#include <functional>
#include <string>

#include "reports/predict_report.h"
#include "reports/words.h"
#include "simulate/plan.h"

namespace stepsight {

struct PlanReport {
  std::string source;  // what `predict` is asked for to look closer: a file, or flags
  const PlanSpace& space;
  const PlanResult& result;
  // Each group's best plan as a point of a sweep over the machines: predicted, with its interval
  // and its money. Axes are "gpus" and those keys that the space has several bases for.
  PredictReport best;
  std::function<const GpuProfile&(const std::string&)> profile_of;
};

std::string plan_text(const PlanReport& report, const Words& words);
std::string plan_json(const PlanReport& report);
// Every candidate and what became of it, a row each.
std::string candidates_csv(const PlanReport& report);

// "tp4 pp2 dp1 zero1": what a candidate is, in the field's abbreviations.
std::string plan_words(const PlanSpace& space, const PlanCandidate& candidate);

}  // namespace stepsight
