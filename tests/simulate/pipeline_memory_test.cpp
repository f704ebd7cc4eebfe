// Bytes of activations along a schedule, against sums by hand and a published formula.
#include "simulate/pipeline_memory.h"

#include <stdexcept>
#include <vector>

#include "tests/catch2.h"

using namespace stepsight;

namespace {

using Chunks = std::vector<PipelineChunkActivations>;

PipelineChunkActivations keeps(double bytes) {
  PipelineChunkActivations chunk;
  chunk.kept = Bytes{bytes};
  return chunk;
}

PipelineActivations peak(const PipelineShape& shape, std::int64_t stage, const Chunks& chunks) {
  return peak_activations(order_passes(shape), stage, chunks);
}

constexpr auto one_each = PipelineSchedule::one_f_one_b;

}  // namespace

TEST_CASE("chunks of one byte weigh as many bytes as are in flight") {
  for (const PipelineShape& shape : {PipelineShape{PipelineSchedule::gpipe, 4, 6, 1},
                                     PipelineShape{one_each, 4, 6, 1},
                                     PipelineShape{PipelineSchedule::interleaved, 4, 8, 3}}) {
    const PipelineOrder schedule = order_passes(shape);
    const Chunks chunks(static_cast<std::size_t>(shape.chunks), keeps(1));
    for (std::int64_t s = 0; s < shape.stages; ++s) {
      const PipelineActivations a = peak_activations(schedule, s, chunks);
      CHECK(a.peak.value == static_cast<double>(peak_in_flight(schedule, s)));
      CHECK(a.left.value == 0);
    }
  }
}

TEST_CASE("the first stage of an interleaved pipeline keeps 1 + (p - 1) / (p v) of the model") {
  // Korthikanti et al. 2022 (arXiv:2205.05198), section 4.2.3: activations of that many times all L
  // layers, where 1f1b keeps L / p layers of p micro-batches.
  const double layers = 96;
  const PipelineShape shape{PipelineSchedule::interleaved, 8, 64, 3};
  const Chunks chunks(3, keeps(layers / (8 * 3)));
  CHECK(peak(shape, 0, chunks).peak.value == Approx(layers * (1 + 7.0 / (8 * 3))));
  CHECK(peak({one_each, 8, 64, 1}, 0, {keeps(layers / 8)}).peak.value == Approx(layers));
}

TEST_CASE("chunks of different weight are counted each by its own") {
  // Stage 1 of 2, two chunks, 4 micro-batches: F0.0 F1.0 F0.1 D0.1 F1.1 D1.1 F2.0 D0.0 F3.0 D1.0
  // ... Chunk 0 of 10: 10 20 21 20 21 20 30; chunk 1 of 10: 1 2 12 2 12 2 3. Three are in flight in
  // both.
  const PipelineShape shape{PipelineSchedule::interleaved, 2, 4, 2};
  const PipelineActivations first_heavy = peak(shape, 1, {keeps(10), keeps(1)});
  CHECK(first_heavy.peak.value == 30);
  CHECK(first_heavy.at == 6);
  const PipelineActivations last_heavy = peak(shape, 1, {keeps(1), keeps(10)});
  CHECK(last_heavy.peak.value == 12);
  CHECK(last_heavy.at == 2);
}

TEST_CASE("zero-bubble keeps for the weights only what they need") {
  // Stage 2 of 3: F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3; kept 4, for the weights 3: 4 3 7 6 10 9
  // 6 10.
  const PipelineShape shape{PipelineSchedule::zero_bubble, 3, 4, 1};
  PipelineChunkActivations chunk = keeps(4);
  chunk.kept_for_weights = Bytes{3};
  CHECK(peak(shape, 2, {chunk}).peak.value == 10);
  // Nothing is left for the weights: 1f1b's memory. All of it is: p micro-batches' worth.
  chunk.kept_for_weights = Bytes{0};
  CHECK(peak(shape, 2, {chunk}).peak.value == peak({one_each, 3, 4, 1}, 2, {keeps(4)}).peak.value);
  chunk.kept_for_weights = Bytes{4};
  CHECK(peak(shape, 2, {chunk}).peak.value == 3 * 4);
  // More is, gradients of outputs among it: the moment after B counts. 5 10 15, before W0.
  chunk.kept_for_weights = Bytes{5};
  CHECK(peak(shape, 2, {chunk}).peak.value == 15);
}

TEST_CASE("what a pass works with counts beside what is kept, while it runs") {
  // Stage 0 of 2, 1f1b: F0 F1 D0 F2 D1 ...: 3, 6, then backward with 6 kept.
  const PipelineShape shape{one_each, 2, 4, 1};
  PipelineChunkActivations chunk = keeps(3);
  chunk.forward_working = Bytes{1};
  CHECK(peak(shape, 0, {chunk}).peak.value == 7);
  CHECK(peak(shape, 0, {chunk}).at == 1);
  chunk.backward_working = Bytes{5};
  CHECK(peak(shape, 0, {chunk}).peak.value == 11);
  CHECK(peak(shape, 0, {chunk}).at == 2);
}

TEST_CASE("activations of a wrong number of chunks are our own error") {
  CHECK_THROWS_AS(peak({one_each, 2, 4, 1}, 0, {keeps(1), keeps(1)}), std::logic_error);
}
