// Sweeps in process: predictions a second, on as many threads as the goals say.
#include <memory>
#include <thread>
#include <vector>

#include "model/io/model_file.h"
#include "model/io/profile_file.h"
#include "simulate/ordered_workers.h"
#include "simulate/quick_predict.h"
#include "tests/bench/bench.h"

namespace stepsight::bench {
namespace {

const GpuProfile& h200() {
  static const GpuProfile profile = read_profile("h200-sxm");
  return profile;
}

// Predictions a second of two threads over `count` scenarios.
double rate(std::size_t count, const Scenario& base, void (*change)(Scenario&, std::size_t)) {
  OrderedWork work;
  work.end = count;
  work.chunk = 32;
  work.threads = 2;
  work.make_worker = [&]() -> ItemsToText {
    auto predictor = std::make_shared<QuickPredictor>(h200());
    return [&, predictor](std::uint64_t begin, std::uint64_t end) {
      Scenario s = base;
      for (std::uint64_t i = begin; i < end; ++i) {
        change(s, i);
        keep(predictor->predict(s));
      }
      return std::string();
    };
  };
  work.take = [](const std::string&, std::uint64_t) {};
  const double seconds = seconds_per_call([&] { run_in_order(work); }, 0, 5);
  return static_cast<double>(count) / seconds;
}

Scenario llama_on_eight() {
  Scenario s;
  s.model = read_model("llama2-7b");
  s.training.seq = 2048;
  s.cluster.gpu = "h200-sxm";
  s.cluster.gpus = 8;
  s.cluster.link = link_names(h200()).front();
  return s;
}

ModelShape gpt3(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  ModelShape m;
  m.family = Family::gpt;
  m.layers = layers;
  m.hidden = hidden;
  m.heads = m.kv_heads = heads;
  m.head_dim = hidden / heads;
  m.ffn = 4 * hidden;
  m.vocab = 51200;
  m.positions = 2048;
  m.tied_head = m.bias = m.fused_qkv = true;
  return m;
}

double llama_rate(const BenchContext&) {
  return rate(4000, llama_on_eight(), [](Scenario& s, std::size_t i) {
    s.training.batch = static_cast<std::int64_t>(i) + 1;
  });
}

double gpt3_rate(const BenchContext&) {
  Scenario s = llama_on_eight();
  s.model = gpt3(96, 12288, 96);
  s.training.accumulation = 64;
  s.training.precision = {Dtype::bf16, false, true};
  s.cluster.gpus = 64;
  s.cluster.nodes = 8;
  s.cluster.link = "nvlink4-nvswitch+8x400G-ib";
  s.parallel.tensor = 8;
  s.parallel.pipeline = 8;
  s.parallel.chunks = 2;
  s.parallel.schedule = PipelineSchedule::interleaved;
  return rate(400, s, [](Scenario& x, std::size_t i) {
    x.training.seq = 1024 + 8 * static_cast<std::int64_t>(i % 128);
  });
}

// What ASTRA-sim takes 134 s for: GPT of 8 layers, TP 8, 1,024 GPUs, one step.
double thousand_gpus_ms(const BenchContext&) {
  Scenario s = llama_on_eight();
  s.model = gpt3(8, 12288, 96);
  s.training.precision = {Dtype::bf16, false, true};
  s.cluster.gpus = 1024;
  s.cluster.nodes = 128;
  s.cluster.link = "nvlink4-nvswitch+8x400G-ib";
  s.parallel.tensor = 8;
  s.parallel.sequence = true;
  s.parallel.strategy = Strategy::zero1;
  return 1e3 * seconds_per_call([&] { keep(QuickPredictor(h200()).predict(s)); });
}

const int registered[] = {
    add_bench({"sweep: Llama-2 7B, DDP on 8 GPUs, over batches, two threads",
               20000,
               "/s",
               Better::higher,
               llama_rate}),
    add_bench({"sweep: GPT-3 175B, TP 8, PP 8 in 2 chunks, m = 64, two threads",
               2000,
               "/s",
               Better::higher,
               gpt3_rate}),
    add_bench({"predict: GPT of 8 layers, TP 8 on 1,024 GPUs",
               50,
               "ms",
               Better::lower,
               thousand_gpus_ms}),
};

}  // namespace
}  // namespace stepsight::bench
