// What a person waits for: one prediction in process, and the profile read from its files.
#include <string>

#include "model/io/model_file.h"
#include "model/io/profile_file.h"
#include "simulate/predict.h"
#include "tests/bench/bench.h"

namespace stepsight::bench {
namespace {

const GpuProfile& h200() {
  static const GpuProfile profile = read_profile("h200-sxm");
  return profile;
}

// Llama-2 7B, 4 sequences of 2048 tokens a GPU, DDP over NVSwitch: 8 GPUs, 512 buckets or so.
Scenario llama_on_eight() {
  Scenario scenario;
  scenario.model = read_model("llama2-7b");
  scenario.training.batch = 4;
  scenario.training.seq = 2048;
  scenario.cluster.gpu = "h200-sxm";
  scenario.cluster.gpus = 8;
  scenario.cluster.link = link_names(h200()).front();
  return scenario;
}

double predict_step_ms(const BenchContext&) {
  const Scenario scenario = llama_on_eight();
  return 1e3 * seconds_per_call([&] { keep(predict_step(scenario, h200())); });
}

// 96 layers of 12,288 (GPT-3 175B) over 8 GPUs with sequence parallelism: messages in every layer.
double predict_split_step_ms(const BenchContext&) {
  Scenario scenario = llama_on_eight();
  ModelShape& m = scenario.model;
  m.layers = 96;
  m.hidden = 12288;
  m.heads = m.kv_heads = 96;
  m.head_dim = 128;
  m.ffn = 4 * m.hidden;
  scenario.training.batch = 1;
  scenario.parallel.tensor = 8;
  scenario.parallel.sequence = true;
  return 1e3 * seconds_per_call([&] { keep(predict_step(scenario, h200())); });
}

double predict_ms(const BenchContext&) {
  const Scenario scenario = llama_on_eight();
  return 1e3 * seconds_per_call([&] { keep(predict(scenario, h200())); });
}

double read_profile_ms(const BenchContext&) {
  return 1e3 * seconds_per_call([&] { keep(read_profile("h200-sxm")); });
}

const int registered[] = {
    add_bench(
        {"predict: step of Llama-2 7B, DDP on 8 GPUs", 1, "ms", Better::lower, predict_step_ms}),
    add_bench({"predict: step of 96 layers split over 8 GPUs",
               1.5,
               "ms",
               Better::lower,
               predict_split_step_ms}),
    add_bench(
        {"predict: the same with attribution and memory", 1, "ms", Better::lower, predict_ms}),
    add_bench({"profile: read parameters and points", 15, "ms", Better::lower, read_profile_ms}),
};

}  // namespace
}  // namespace stepsight::bench
