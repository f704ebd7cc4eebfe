// All of people's cases together: of the verdicts that the tables of links, splits and diagnoses
// ask for, how many are as the threads turned out. What does not hold is listed in its table with
// the physics or the fact that is missing; planner_cases_test.cpp and memory_cases_test.cpp ask
// further ones, all of which hold.
//
// Cases with a figure that no table asks, and why:
//   NVIDIA/cosmos-framework 161 (HSDP on rented A100: the model is not named)
//   deepspeedai/DeepSpeed 2928 (176 B on 384 V100: batch not in the thread; the curve over networks
//   is asked
//     in planner_cases_test.cpp)
//   NVIDIA/Megatron-LM 756 (Mixtral: the split over experts is not in the thread's stored part)
//   open-mmlab/mmpretrain 350 (how many cores decode images: not part of a step)
//   OpenMOSS/MOVA 68 and alike (saving a whole state on one rank: the storage's rate is not in the
//   thread) open-mmlab/mmdetection 2090 (Faster R-CNN is no model here) swiss-ai/Megatron-LM 29 (8
//   B on GH200: the split is not in the thread)
#include <algorithm>

#include "tests/catch2.h"
#include "tests/validation/cases.h"

using namespace stepsight;

TEST_CASE("of all verdicts that people's cases call for at least 85 in 100 are given") {
  std::vector<CaseAnswer> all = link_case_answers();
  for (auto more : {strategy_case_answers(), diagnose_case_answers()}) {
    std::ranges::move(more, std::back_inserter(all));
  }
  const auto held = std::ranges::count_if(all, &CaseAnswer::held);
  UNSCOPED_INFO(held << " of " << all.size() << " verdicts; not:");
  for (const CaseAnswer& a : all) {
    if (!a.held) UNSCOPED_INFO("  " << a.where << ": " << a.asked);
  }
  CHECK(all.size() >= 105);
  CHECK(100 * held >= 85 * std::ssize(all));
}
