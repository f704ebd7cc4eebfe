// The small trainers of language models: nanoGPT ("iter 1631: loss 4.0863, time 561.94ms, mfu
// 30.12%"), litgpt ("iter time: 548.72 ms"), llm.c ("step 21/19560 | ... | 173.42 ms | 3021874
// tok/s"), modded-nanogpt ("train_time:56.129s"), nanochat ("dt: 702.31ms | tok/sec: 746,512").
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "model/io/logs/step_collector.h"

namespace stepsight {

class NanogptLog {
 public:
  void line(std::string_view line);
  StepLog finish();

 private:
  bool read_iter(std::string_view line);
  bool read_bars(std::string_view line);  // llm.c, nanochat
  bool read_modded(std::string_view line);
  void add(std::int64_t index, double seconds, std::string_view line, const char* format);

  StepLog log_;
  StepCollector steps_;
  double mfu_sum_ = 0;
  std::int64_t mfu_count_ = 0;
  double train_time_ = 0;
  std::int64_t train_step_ = 0;
};

}  // namespace stepsight
