// From the numbers of a pipeline's stages to its time: schedule, program, run and reading it.
#include "simulate/pipeline_time.h"
#include "tests/bench/bench.h"

namespace stepsight::bench {
namespace {

// Every cost that a large run has: messages, gradients in buckets beside the last backward, gather
// of parameters, tied embedding, norm.
PipelineCosts costs_of(const PipelineShape& shape, PipelineMessages messages) {
  PipelineChunkCosts chunk;
  chunk.forward = Seconds{4e-3};
  chunk.input_gradient = chunk.weight_gradient = Seconds{4e-3};
  chunk.gradient_sync = Seconds{20e-3};
  chunk.gradient_buckets = 8;
  chunk.parameter_gather = Seconds{10e-3};
  PipelineStageCosts stage;
  stage.chunks.assign(static_cast<std::size_t>(shape.chunks), chunk);
  stage.activations = stage.gradients = {Bytes{6e6}, Seconds{0.3e-3}};
  stage.optimizer = Seconds{10e-3};
  PipelineCosts costs;
  costs.stages.assign(static_cast<std::size_t>(shape.stages), stage);
  costs.messages = messages;
  costs.overlap_gradient_sync = true;
  costs.embedding_sync = Seconds{2e-3};
  costs.global_norm = true;
  return costs;
}

double predict_ms(const PipelineShape& shape, PipelineMessages messages, double rate) {
  const PipelineCosts costs = costs_of(shape, messages);
  Machine machine;
  machine.slow_down[1][2] = rate;
  machine.slow_down[2][1] = rate;
  return 1e3 *
         seconds_per_call([&] { keep(predict_pipeline(order_passes(shape), costs, machine)); });
}

// 96 layers on 8 stages of 2 chunks, 64 micro-batches: 2,048 passes.
constexpr PipelineShape gpt3_175b{PipelineSchedule::interleaved, 8, 64, 2};
// 126 layers on 16 stages, 128 micro-batches: 4,096 passes; and 32,768 in 8 chunks a stage.
constexpr PipelineShape llama_405b{PipelineSchedule::one_f_one_b, 16, 128, 1};
constexpr PipelineShape llama_405b_interleaved{PipelineSchedule::interleaved, 16, 128, 8};

const int registered[] = {
    add_bench({"pipeline: GPT-3 175B, p = 8, v = 2, m = 64",
               0.4,
               "ms",
               Better::lower,
               [](const BenchContext&) {
                 return predict_ms(gpt3_175b, PipelineMessages::overlapped_in_between, 1);
               }}),
    add_bench({"pipeline: the same, slow-down",
               0.4,
               "ms",
               Better::lower,
               [](const BenchContext&) {
                 return predict_ms(gpt3_175b, PipelineMessages::overlapped_in_between, 0.9);
               }}),
    add_bench({"pipeline: the same, slow-down, blocking",
               0.4,
               "ms",
               Better::lower,
               [](const BenchContext&) {
                 return predict_ms(gpt3_175b, PipelineMessages::blocking, 0.9);
               }}),
    add_bench({"pipeline: Llama-3 405B, p = 16, m = 128, slow-down",
               5,
               "ms",
               Better::lower,
               [](const BenchContext&) {
                 return predict_ms(llama_405b, PipelineMessages::blocking, 0.9);
               }}),
    add_bench({"pipeline: the same in 8 chunks a stage, full rate",
               5,
               "ms",
               Better::lower,
               [](const BenchContext&) {
                 return predict_ms(llama_405b_interleaved, PipelineMessages::overlapped, 1);
               }}),
};

}  // namespace
}  // namespace stepsight::bench
