// One scenario in a line of words.
#pragma once
#include <string>
#include <string_view>

#include "model/profile.h"
#include "model/scenario.h"
#include "reports/words.h"

namespace stepsight {

// "gpt2-774m, bf16, adamw, 8 x 1024 tokens on each GPU; 8 x NVIDIA H200 SXM 141 GB,
// nvlink4-nvswitch, ddp"
std::string question_line(const Scenario& scenario, const GpuProfile& gpu, const Words& words);

// "8 x 1024 tokens on each GPU", or of all GPUs where the scenario fixes the global batch.
std::string batch_words(const Scenario& scenario, const Words& words);

// "nvlink4-nvswitch", "nvlink4-nvswitch at 2 times its bandwidth".
std::string link_words(const Cluster& cluster, const Words& words);

// What the models of a table's rows take: images, tokens, or some the one and some the other.
struct Taken {
  bool images = false, tokens = false;
  void add(const Scenario& scenario);
  [[nodiscard]] bool only_images() const { return images && !tokens; }
  // The key of the words over a column of rates.
  [[nodiscard]] std::string_view column() const;
};

// "ddp", "zero1, tensor 8, pipeline 4": how the work is split.
std::string split_words(const Parallel& parallel, const Words& words);

}  // namespace stepsight
