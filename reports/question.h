// One scenario in a line of words.
#pragma once
#include <string>

#include "model/profile.h"
#include "model/scenario.h"
#include "reports/words.h"

namespace stepsight {

// "gpt2-774m, bf16, adamw, 8 x 1024 tokens on each GPU; 8 x NVIDIA H200 SXM 141 GB, nvlink4-nvswitch,
// ddp"
std::string question_line(const Scenario& scenario, const GpuProfile& gpu, const Words& words);

// "8 x 1024 tokens on each GPU", or of all GPUs where the scenario fixes the global batch.
std::string batch_words(const Scenario& scenario, const Words& words);

// "nvlink4-nvswitch", "nvlink4-nvswitch at 2 times its bandwidth".
std::string link_words(const Cluster& cluster, const Words& words);

// "ddp", "zero1, tensor 8, pipeline 4": how the work is split.
std::string split_words(const Parallel& parallel, const Words& words);

}  // namespace stepsight
