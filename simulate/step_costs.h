// What every operator of a step costs on the GPU, asked once: the programs that are built from one
// step, with one cause after the other taken out, all use the same answers.
#pragma once
#include <vector>

#include "model/cost.h"
#include "model/profile.h"
#include "model/scenario.h"
#include "model/transformer.h"

namespace stepsight {

class PriceCache;

// In the order of StageWork::forward, ::backward and, for the last two, ::ready.
struct StageCosts {
  std::vector<Cost> forward;
  std::vector<Cost> backward;
  std::vector<Cost> accumulate;  // adding a gradient to that of earlier micro-steps
  std::vector<Cost> copy;        // copying a gradient into its bucket
};

struct StepCosts {
  StageCosts embedding, block, kept_block, head;
  std::vector<Cost> optimizer;
};

// The passes that add a gradient of this size to another one and copy it into its bucket.
Pass accumulate_pass(const GradientReady& gradient, const Precision& precision);
Pass bucket_copy_pass(const GradientReady& gradient, const Precision& precision);

// UserError where the step multiplies in fp8 and the card cannot.
StepCosts cost_step(const StepWork& work,
                    const Precision& precision,
                    const GpuProfile& gpu,
                    PriceCache* cache = nullptr);

}  // namespace stepsight
