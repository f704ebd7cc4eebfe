// tqdm's bars, as Hugging Face's Trainer, Lightning, Ultralytics and NeMo print them:
// "  3%|3         | 10/312 [01:10<35:20,  7.02s/it]".
//
// The rate of a bar is smoothed, over seconds or tens of steps. Bars of validation, downloads and
// tokenisation are passed over: by their description, by units that are no steps, and because the
// bar that ran longest is taken for training.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/io/logs/step_collector.h"

namespace stepsight {

class ProgressBarLog {
 public:
  void line(std::string_view line);
  StepLog finish();

 private:
  struct Bar {
    std::int64_t total = 0;
    std::int64_t base = 0;  // steps of the bars before this one, with the same total
    std::int64_t last = 0;
    double seconds = 0;  // that the bars of this total ran
    double elapsed = 0;
    StepCollector steps;
  };
  Bar* bar_of(std::int64_t total);

  // A training script shows few kinds of bars; those beyond are counted as passed over.
  std::array<Bar, 8> bars_;
  std::size_t used_ = 0;
  std::int64_t passed_over_ = 0;
  bool lightning_ = false;
  bool ultralytics_ = false;
};

}  // namespace stepsight
