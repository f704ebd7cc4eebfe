// How sure the communication is that a step waits for.
//
// It has no logarithm to be normal in, because most of it hides and often all of it does: a link
// twice as slow may add nothing or a multiple. So each input is moved to the ends of its own 90 %
// interval, one after the other, and the step asked again; what each makes it longer by goes
// together as squares, and what each makes it shorter by too (R. Barlow, Asymmetric systematic
// errors, arXiv:physics/0306138, section 2).
#pragma once
#include "simulate/uncertainty.h"

namespace stepsight {

// Around `exposed_s`, the prediction, in seconds; `uncertainty` is of the same question. All 0
// where nothing is exchanged.
Quantiles exposed_interval(double exposed_s,
                           const StepQuestion& question,
                           const Uncertainty& uncertainty,
                           const ModelError& error);

}  // namespace stepsight
