// All of people's cases together: of the verdicts that the tables of links, splits and diagnoses ask for, and
// of those asked here (planners' questions, checkpoints, a table of many sizes), how many are as the threads
// turned out. What does not hold is listed in its table with the physics or the fact that is missing.
//
// Cases with a figure that nothing asks, and why:
//   NVIDIA/cosmos-framework 161 (HSDP on rented A100: the model is not named)
//   deepspeedai/DeepSpeed 2928 (176 B on 384 V100: batch not in the thread)
//   NVIDIA/Megatron-LM 756 (Mixtral: the split over experts is not in the thread's stored part)
//   open-mmlab/mmpretrain 350 (how many cores decode images: not part of a step)
//   OpenMOSS/MOVA 68 and alike (saving a whole state on one rank: the storage's rate is not in the thread)
//   open-mmlab/mmdetection 2090 (Faster R-CNN is no model here)
//   swiss-ai/Megatron-LM 29 (8 B on GH200: the split is not in the thread)
#include <algorithm>

#include "model/io/scenario_file.h"
#include "simulate/goodput.h"
#include "simulate/scaling_table.h"
#include "tests/validation/cases.h"
#include "tests/validation/points.h"

using namespace stepsight;

namespace {

std::vector<Prediction> predictions(const ScenarioFile& file) {
  std::vector<Prediction> out;
  for (const Scenario& s : file.points) out.push_back(predict(s, profile_named(s.cluster.gpu)));
  return out;
}

std::vector<Prediction> shipped(const char* name) {
  return predictions(read_scenario(STEPSIGHT_SOURCE_DIR "/scenarios/" + std::string(name)));
}

// 1.6 B on eight H100 as llm.c trains it.
double llm_c_mfu() {
  const std::vector<KeyFlag> flags{
      {"--model", "name", "gpt2-1558m"}, {"--gpu", "gpu", "h100-sxm"},       {"--gpus", "gpus", "8"},
      {"--batch", "batch", "16"},        {"--link", "link", "nvlink4-nvswitch"}, {"--seq", "seq", "1024"},
      {"--vocab", "vocab", "50304"},     {"--accumulation", "accumulation", "8"},
      {"--compile", "compile", "true"},  {"--strategy", "strategy", "zero1"}};
  return predictions(scenario_from_flags(flags)).front().mfu;
}

double tinyllama_tokens_per_gpu() {
  return predictions(read_scenario_text("tinyllama.toml", tinyllama)).front().tokens_per_s / 16;
}

// Of the wall clock that checkpoints every three hours take.
double lost_to_checkpoints(double seconds) {
  RunLength run;
  run.checkpoint_s = seconds;
  run.checkpoint_interval_s = 3 * 3600;
  return 1 - goodput(run, 384).share;
}

std::vector<CaseAnswer> further_answers() {
  std::vector<CaseAnswer> out;
  const auto ask = [&](const char* where, const char* asked, double least, double most, double answer) {
    out.push_back({where, asked, answer >= least && answer <= most});
  };
  const auto second_4090 = shipped("second_4090.toml");
  const auto second = [&](std::size_t model) {
    return second_4090[2 * model + 1].samples_per_s / second_4090[2 * model].samples_per_s;
  };
  ask("a second RTX 4090?", "ResNet-50: 1.3 to 2.0 times", 1.3, 2, second(0));
  ask("a second RTX 4090?", "GPT-2: 1.3 to 2.0 times", 1.3, 2, second(1));
  ask("a second RTX 4090?", "BERT-large: 1.3 to 2.0 times", 1.3, 2, second(2));
  const auto bridge = shipped("second_3090.toml");
  ask("a bridge?", "GPT-2 in fp32 on two cards: 30 % more", 1.3 / 1.15, 1.3 * 1.15,
      bridge[0].step / bridge[1].step);
  const auto cards = shipped("h100_or_a100.toml");
  ask("H100 or A100?", "7 B: 2.29 times", 2.29 / 1.15, 2.29 * 1.15,
      cards[0].tokens_per_s / cards[2].tokens_per_s);
  ask("karpathy/llm.c 677", "1.6 B on eight H100: about half of the peak", 0.45, 0.55, llm_c_mfu());
  ask("jzhang38/TinyLlama", "24,000 tokens a second on each A100", 24e3 / 1.15, 24e3 * 1.15,
      tinyllama_tokens_per_gpu());
  ask("stas00, fault tolerance", "40 s every three hours: 0.37 % of the time", 0.0036, 0.0038,
      lost_to_checkpoints(40));
  ask("stas00, fault tolerance", "five times slower storage: 1.9 %", 0.018, 0.0195, lost_to_checkpoints(200));
  const ScalingLaw yolo = scaling_law(std::vector<ScalingTime>{{4, 9000}, {8, 8460}, {16, 8700}, {32, 9960}});
  ask("ultralytics/yolov5 12424", "2:30, 2:21, 2:25 and 2:46: 97 % of the time on eight is not divisible", 0.92, 1,
      yolo.constant / (yolo.constant + yolo.divided / 8));
  return out;
}

}  // namespace

TEST_CASE("of all verdicts that people's cases call for at least 85 in 100 are given") {
  std::vector<CaseAnswer> all = further_answers();
  for (auto more : {link_case_answers(), strategy_case_answers(), diagnose_case_answers()}) {
    std::ranges::move(more, std::back_inserter(all));
  }
  const auto held = std::ranges::count_if(all, &CaseAnswer::held);
  UNSCOPED_INFO(held << " of " << all.size() << " verdicts; not:");
  for (const CaseAnswer& a : all) {
    if (!a.held) UNSCOPED_INFO("  " << a.where << ": " << a.asked);
  }
  CHECK(all.size() >= 115);
  CHECK(100 * held >= 85 * std::ssize(all));
}
