// Times matrix products over the design of measure/gemm_design.h.
#include <algorithm>
#include <array>
#include <iostream>
#include <string>

#include "calibrate/cuda/boost_timing.h"
#include "calibrate/cuda/session.h"
#include "calibrate/gemm/lt_gemm.h"
#include "calibrate/gemm/operand_pools.h"
#include "calibrate/measure/run_main.h"
#include "calibrate/measure/sizes.h"
#include "model/errors.h"

namespace stepsight::calibrate {
namespace {

// In one graph; the smallest products need that many copies to leave the L2.
constexpr std::int64_t most_launches = 2048;

constexpr std::array<ExtraFlag, 1> extras{{
    {"--round", "N", "other shapes of the same kinds than rounds 1 to N - 1 (default 1)"},
}};

constexpr Tool tool{
    .name = "calibrate_gemm",
    .summary = "times matrix products of many shapes, layouts and formats through cuBLASLt",
    .example = "calibrate_gemm --quick -o h200_gemm.json",
    .quick_budget_s = 30,
    .full_budget_s = 150,
    .extras = extras,
};

constexpr std::string_view method =
    "cuBLASLt, first algorithm of the heuristic, 32 MiB workspace; normal random data, operands "
    "rotated past 4 x L2; CUDA graph of launches (direct above 2 ms), start to start; bursts of 4 "
    "ms, the GPU at work for 30 % of the time (60 % where memory-bound) so that the clock stays at "
    "its highest; clock read in and after each burst, the point repeated where it was low; median "
    "and quartiles of replays until the standard error of the median is 0.5 %; "
    "fp8 = e4m3 in, bf16 out, fast accumulation";

std::vector<GemmShape> design_of(const Options& options) {
  const std::int64_t round = parse_size(extra(options, "--round", "1"), "--round");
  std::vector<GemmShape> design = gemm_design(options.full, std::min<std::int64_t>(round, 400));
  if (design.empty() || round > 400) throw UserError("--round: earlier rounds hold all shapes");
  return design;
}

void list(const Options& options) {
  std::cout << "op,dtype,layout,m,n,k\n";
  for (const GemmShape& s : design_of(options)) {
    std::cout << "gemm," << info(s.dtype).name << ',' << name(s.layout) << ',' << s.m << ',' << s.n
              << ',' << s.k << '\n';
  }
}

Record shape_record(const GemmShape& s) {
  return {field("m", s.m),
          field("n", s.n),
          field("k", s.k),
          field("dtype", info(s.dtype).name),
          field("layout", name(s.layout))};
}

// The library and the memory that all shapes share.
struct Bench {
  Stream stream;
  LtGemm library;
  OperandPools pools;
  BoostTimer timer;
};

double operand_bytes(const GemmShape& s) {
  return static_cast<double>(left_bytes(s) + right_bytes(s) + output_bytes(s));
}

// nullopt for a shape that this card cannot compute or hold.
std::optional<Point> measure_shape(Bench& bench, const GemmShape& shape, bool full) {
  const auto plan = bench.library.plan(shape);
  const auto operands = bench.pools.place(shape, most_launches);
  if (!plan || !operands) return std::nullopt;
  const Launch launch = [&](cudaStream_t stream, std::int64_t i) {
    const std::int64_t copy = i % operands->copies;
    bench.library.launch(*plan,
                         operands->left + copy * operands->in_stride,
                         operands->right + copy * operands->in_stride,
                         operands->out + copy * operands->out_stride,
                         stream);
  };
  TimingPlan timing{.min_launches = operands->copies, .max_launches = most_launches};
  // One burst holds three samples of a millisecond. Of a product that takes longer than a burst,
  // each further launch only warms the card.
  timing.rule.min_samples = 3;
  timing.rule.least_samples = 2;
  timing.rule.budget_s = full ? 0.06 : 0.04;
  const double duty = duty_for_product(flops(shape), operand_bytes(shape));
  const BoostTime at_boost = bench.timer.time(bench.stream.get(), launch, timing, duty);
  const GpuTime& time = at_boost.time;
  Record results{field("TFLOPS", flops(shape) / time.us.median * 1e-6),
                 field("launches", time.launches),
                 field("copies", operands->copies)};
  const Record clock = clock_record(at_boost);
  results.insert(results.end(), clock.begin(), clock.end());
  return Point{.op = "gemm",
               .shape = shape_record(shape),
               .time_us = time.us,
               .results = std::move(results)};
}

void measure(const Tool& self, const Options& options) {
  Session session(self, options, options.device, method, true);
  session.add_library("cublaslt", LtGemm::version_text());
  Stream stream = make_stream();
  OperandPools pools(session.device().l2_bytes, free_device_bytes(), stream.get());
  Bench bench{.stream = std::move(stream),
              .library = LtGemm(),
              .pools = std::move(pools),
              .timer = BoostTimer(session.nvml(), session.device().pci_bus_id)};
  const std::vector<GemmShape> design = design_of(options);
  std::size_t done = 0;
  std::int64_t refused = 0;
  for (const GemmShape& shape : design) {
    if (!session.go_on()) break;
    session.progress().show(++done, design.size(), to_json(shape_record(shape)));
    if (session.log().has("gemm", shape_record(shape))) continue;
    const auto point = measure_shape(bench, shape, options.full);
    if (point) session.log().add(*point);
    refused += point ? 0 : 1;
  }
  session.log().set_top(field("shapes_refused", refused));
  session.finish(done == design.size());
}

}  // namespace
}  // namespace stepsight::calibrate

int main(int argc, char** argv) {
  namespace self = stepsight::calibrate;
  return self::run_main(self::tool, argc, argv, self::list, self::measure);
}
