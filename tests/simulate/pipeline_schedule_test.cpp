// Orders of passes against the figures of the papers and a second derivation of what is alive.
#include "simulate/pipeline_schedule.h"

#include <string>

#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

// "F0 B0 F1 B1"; with chunks "F0.1" is micro-batch 0 of chunk 1.
std::string text(const PipelineOrder& schedule, std::int64_t stage) {
  std::string out;
  for (const PipelineOp& op : schedule.of(stage)) {
    if (!out.empty()) out += ' ';
    // A whole backward is written D, as the papers write B for the input's gradient alone.
    out += "FDBW"[static_cast<std::size_t>(op.pass)];
    out += std::to_string(op.micro_batch);
    if (schedule.shape.chunks > 1) out += "." + std::to_string(op.chunk);
  }
  return out;
}

PipelineOrder scheduled(PipelineSchedule kind, int stages, int micro_batches, int chunks = 1) {
  return order_passes({kind, stages, micro_batches, chunks});
}

std::string refused(PipelineSchedule kind,
                    std::int64_t stages,
                    std::int64_t m,
                    std::int64_t chunks) {
  return message_of([&] { order_passes({kind, stages, m, chunks}); });
}

constexpr auto one_each = PipelineSchedule::one_f_one_b;

}  // namespace

TEST_CASE("gpipe runs all forwards, then all backwards, on every stage") {
  const PipelineOrder schedule = scheduled(PipelineSchedule::gpipe, 2, 3);
  CHECK(text(schedule, 0) == "F0 F1 F2 D0 D1 D2");
  CHECK(text(schedule, 1) == text(schedule, 0));
}

TEST_CASE("1f1b fills with p - 1 - s forwards and alternates") {
  // Narayanan et al. 2021, figure 4 top, for 4 stages; 5 micro-batches here.
  const PipelineOrder schedule = scheduled(one_each, 4, 5);
  CHECK(text(schedule, 0) == "F0 F1 F2 F3 D0 F4 D1 D2 D3 D4");
  CHECK(text(schedule, 2) == "F0 F1 D0 F2 D1 F3 D2 F4 D3 D4");
  CHECK(text(schedule, 3) == "F0 D0 F1 D1 F2 D2 F3 D3 F4 D4");
}

TEST_CASE("1f1b with fewer micro-batches than stages is all filling and draining") {
  const PipelineOrder schedule = scheduled(one_each, 4, 2);
  CHECK(text(schedule, 0) == "F0 F1 D0 D1");
  CHECK(text(schedule, 3) == "F0 D0 F1 D1");
}

TEST_CASE("interleaving takes groups of p micro-batches through the chunks") {
  // 2 stages of 2 chunks: 2 (p - 1 - s) + (v - 1) p = 4 and 2 forwards first. Megatron-LM's table
  // for groups of two: micro-batches 0 1 0 1 2 3 2 3 of chunks 0 0 1 1 0 0 1 1.
  const PipelineOrder schedule = scheduled(PipelineSchedule::interleaved, 2, 4, 2);
  CHECK(text(schedule, 0) ==
        "F0.0 F1.0 F0.1 F1.1 F2.0 D0.1 F3.0 D1.1 F2.1 D0.0 F3.1 D1.0 D2.1 D3.1 D2.0 D3.0");
  CHECK(text(schedule, 1) ==
        "F0.0 F1.0 F0.1 D0.1 F1.1 D1.1 F2.0 D0.0 F3.0 D1.0 F2.1 D2.1 F3.1 D3.1 D2.0 D3.0");
}

TEST_CASE("zero-bubble puts the weights' gradients off by the number of the stage") {
  const PipelineOrder schedule = scheduled(PipelineSchedule::zero_bubble, 3, 4);
  CHECK(text(schedule, 0) == "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3");
  CHECK(text(schedule, 1) == "F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3");
  CHECK(text(schedule, 2) == "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3");
}

TEST_CASE("micro-batches in flight are what the papers say") {
  for (const int p : {1, 2, 4, 7}) {
    for (const int m : {1, 2, 4, 8, 21}) {
      for (int s = 0; s < p; ++s) {
        CAPTURE(p, m, s);
        CHECK(peak_in_flight(scheduled(PipelineSchedule::gpipe, p, m), s) == m);
        CHECK(peak_in_flight(scheduled(one_each, p, m), s) == std::min(m, p - s));
        CHECK(peak_in_flight(scheduled(PipelineSchedule::zero_bubble, p, m), s) == std::min(m, p));
        for (const int v : {2, 3}) {
          CHECK(peak_in_flight(scheduled(PipelineSchedule::interleaved, p, p * m, v), s) ==
                std::min(v * p * m, 2 * (p - 1 - s) + (v - 1) * p + 1));
        }
      }
    }
  }
}

TEST_CASE("interleaving names the nearest number of micro-batches that comes out even") {
  const auto refused_with = [](std::int64_t m) {
    return refused(PipelineSchedule::interleaved, 8, m, 2);
  };
  CHECK_THAT(refused_with(13), match::ContainsSubstring("nearest is 16"));
  CHECK_THAT(refused_with(12), match::ContainsSubstring("nearest is 8"));
  CHECK_THAT(refused_with(17), match::ContainsSubstring("nearest is 16"));
  CHECK_THAT(refused_with(3), match::ContainsSubstring("nearest is 8"));
  CHECK(refused_with(24).empty());
}

TEST_CASE("what no schedule does is refused with what was expected") {
  CHECK_THAT(refused(one_each, 0, 4, 1), match::ContainsSubstring("0 stages; expected at least 1"));
  CHECK_THAT(refused(one_each, 4, -1, 1), match::ContainsSubstring("-1 micro-batches"));
  CHECK_THAT(refused(one_each, 4, 4, 0), match::ContainsSubstring("0 model chunks"));
  CHECK_THAT(refused(one_each, 4, 4, 2), match::ContainsSubstring("expected 1, or the schedule"));
  CHECK_THAT(refused(PipelineSchedule::zero_bubble, 4, 4, 2),
             match::ContainsSubstring("`zero-bubble`"));
  CHECK_THAT(refused(PipelineSchedule::interleaved, 4, 4, 1), match::ContainsSubstring("`1f1b`"));
  CHECK_THAT(refused(PipelineSchedule::interleaved, 4, 4, 65),
             match::ContainsSubstring("at most 64"));
  const std::int64_t huge = std::int64_t{1} << 62;
  CHECK_THAT(refused(one_each, huge, huge, 1), match::ContainsSubstring("at most 2097152"));
  CHECK_THAT(refused(one_each, 2097153, 1, 1), match::ContainsSubstring("longer than what is"));
}
