// The engine's general path, for programs in which rates can change: see simulate/engine.h for what
// it computes. Callers use run(); this stands apart so that the two paths can be read alone.
#pragma once
#include "simulate/engine.h"

namespace stepsight {

// Precondition: the machine has been checked (run() does).
Timeline run_with_contention(const Program& program, const Machine& machine);

}  // namespace stepsight
