// Two scenarios side by side.
#pragma once
#include "model/profile.h"
#include "reports/document.h"
#include "reports/words.h"
#include "simulate/study.h"

namespace stepsight {

struct ComparedScenario {
  std::string name;  // that tells it from the other
  StudyPoint point;
  const GpuProfile* gpu = nullptr;
};

Document compare_page(const ComparedScenario& first,
                      const ComparedScenario& second,
                      const Words& words);

}  // namespace stepsight
