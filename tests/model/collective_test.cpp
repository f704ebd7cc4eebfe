#include "model/collective.h"

#include "model/timed_call.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

constexpr CollectiveParameters<double> no_start{0, 0, 20};

}  // namespace

TEST_CASE("a ring all-reduce moves 2 (n - 1) / n bytes a byte of the message") {
  // Reduce-scatter and all-gather each send the n - 1 parts that the others own.
  CHECK(traffic_factor(CollectiveKind::all_reduce, 2) == Approx(1.0));
  CHECK(traffic_factor(CollectiveKind::all_reduce, 4) == Approx(1.5));
  CHECK(traffic_factor(CollectiveKind::all_reduce, 8) == Approx(1.75));
  CHECK(traffic_factor(CollectiveKind::all_gather, 4) == Approx(0.75));
  CHECK(traffic_factor(CollectiveKind::reduce_scatter, 4) == Approx(0.75));
  CHECK(traffic_factor(CollectiveKind::all_to_all, 4) == Approx(0.75));
}

TEST_CASE("alone, a rank moves nothing") {
  for (const CollectiveInfo& row : collectives) {
    CHECK(traffic_factor(row.kind, 1) == 0);
    CHECK(collective_formula(row.kind, 1, 1e9, no_start).value == 0);
  }
}

TEST_CASE("14 GB of gradients between 2 cards at 20 GB/s take 0.7 s") {
  // 14 GB x 2 (2 - 1) / 2 = 14 GB each way, 20 GB/s of bus bandwidth.
  CHECK(collective_formula(CollectiveKind::all_reduce, 2, 14e9, no_start).value == Approx(0.7));
}

TEST_CASE("latency is the smallest message, the ramp counts at a megabyte") {
  const CollectiveParameters<double> p{20, 5, 100};
  const auto us = [&](double bytes) {
    return collective_formula(CollectiveKind::all_reduce, 2, bytes, p).value * 1e6;
  };
  CHECK(us(0) == Approx(20));
  CHECK(us(1e6) == Approx(20 + 5 + 10));      // 1 MB at 100 GB/s: 10 us
  CHECK(us(4e6) == Approx(20 + 2 * 5 + 40));  // the ramp goes with the root
}

TEST_CASE("a curve returns what was measured and says when it was not") {
  CollectiveCurve curve{"wire", CollectiveKind::all_reduce, 2, {20, 0, 100}, {}, "a test"};
  const double formula = collective_formula(curve.kind, 2, 1048576, curve.parameters).value;
  CHECK(cost(curve, 1_MiB).time.value == Approx(formula));
  CHECK_FALSE(cost(curve, 1_MiB).measured);

  // 1 MiB was measured at twice the formula's time.
  curve.points = MeasuredCurve({{1048576, std::log(2.0)}});
  CHECK(cost(curve, 1_MiB).time.value == Approx(2 * formula));
  CHECK(cost(curve, 1_MiB).measured);
  CHECK_FALSE(cost(curve, 64_MiB).measured);
}

TEST_CASE("between two measured messages the time lies on a line, and never falls") {
  CollectiveCurve curve{"wire", CollectiveKind::all_reduce, 2, {20, 5, 100}, {}, "a test"};
  const auto formula = [&](double bytes) {
    return collective_formula(curve.kind, 2, bytes, curve.parameters).value;
  };
  // 1 MB took 100 us, 4 MB the same, 16 MB 400 us.
  std::vector<MeasuredCurve::Sample> samples;
  for (const auto& [bytes, time] : {std::pair{16e6, 400e-6}, {1e6, 100e-6}, {4e6, 100e-6}}) {
    samples.push_back({bytes, std::log(time / formula(bytes))});
  }
  curve.points = MeasuredCurve(std::move(samples));
  const auto us = [&](double bytes) { return cost(curve, Bytes{bytes}).time.value * 1e6; };
  CHECK(us(1e6) == Approx(100));
  CHECK(us(2e6) == Approx(100));
  CHECK(us(10e6) == Approx(250));
  double before = 0;
  for (double bytes = 1; bytes < 1e10; bytes *= 1.03) {
    CHECK(us(bytes) >= before * (1 - 1e-12));
    before = us(bytes);
  }
}

TEST_CASE("collectives are found by our name and by the sweeps'") {
  for (const CollectiveInfo& row : collectives) {
    CHECK(parse_collective(row.name) == row.kind);
    CHECK(parse_collective(row.file_name) == row.kind);
    CHECK(info(row.kind).kind == row.kind);
  }
  CHECK_FALSE(parse_collective("broadcast"));
}

TEST_CASE(
    "a timed call takes the host's part, the collective and, over lists, a copy of the message") {
  const Seconds collective{1e-3};
  const Bytes message{1e9};
  const BytesPerSecond rate{1e12};
  for (const CollectiveInfo& row : collectives) {
    INFO(row.name);
    const TimedCall& call = timed_call(row.kind);
    CHECK(call.kind == row.kind);
    const Seconds time = timed_from_host(row.kind, message, collective, rate);
    // Read once and written once at 1 TB/s: 2 ms.
    CHECK(time.value == Approx(1e-3 + call.host_us * 1e-6 + call.copies * 2e-3));
  }
  CHECK(list_copies(CollectiveKind::all_reduce, message, rate).value == 0);
  CHECK(list_copies(CollectiveKind::all_gather, message, rate).value == Approx(2e-3));
}
