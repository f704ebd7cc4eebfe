// Every point of a sweep with its scaling, as a table shows them: the figures of simulate/study.h
// that need neither intervals nor causes, on all cores.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "simulate/predict.h"
#include "simulate/quick_predict.h"
#include "simulate/study.h"

namespace stepsight {

struct QuickPoint {
  Scenario scenario;
  QuickPrediction prediction;
  Scaling weak;                   // the batch of each GPU kept
  std::optional<Scaling> strong;  // the global batch kept; nothing where it cannot be shared out
};

// The same figures as study() gives, to the last digit, whatever the number of threads (0: all).
// UserError for a link or a GPU that is not known, of the first such point.
std::vector<QuickPoint> quick_study(std::span<const Scenario> points,
                                    const ProfileOf& profile_of,
                                    unsigned threads);

}  // namespace stepsight
