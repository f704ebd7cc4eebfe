// Sustains mixes of products, copies and rest, and writes down what each draws at which clock.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "calibrate/cuda/boost_timing.h"
#include "calibrate/cuda/check.h"
#include "calibrate/cuda/kernels.h"
#include "calibrate/cuda/session.h"
#include "calibrate/gemm/lt_gemm.h"
#include "calibrate/gemm/operand_pools.h"
#include "calibrate/measure/run_main.h"
#include "calibrate/power/mix_run.h"

namespace stepsight::calibrate {
namespace {

constexpr Tool tool{
    .name = "calibrate_power",
    .summary = "sustains mixes of matrix products, copies and rest; reads power and clock",
    .example = "calibrate_power --quick -o h200_power.json",
    .quick_budget_s = 20,
    .full_budget_s = 30,
    .extras = {},
};

constexpr std::string_view method =
    "bf16 products through cuBLASLt and copies within device memory on one stream, in slices of "
    "about 5 ms, three of them queued (one, where the mix has gaps); settled, then measured; power "
    "from the card's energy counter between its first and last move, else mean of the sensor; "
    "clock is the mean of readings 5 ms apart; burst times before the mixes, GPU at work for 10 % "
    "of the time";

constexpr GemmShape large_product{.m = 8192, .n = 8192, .k = 8192};
constexpr GemmShape small_product{.m = 4096, .n = 4096, .k = 1024};

void list(const Options&) {
  std::cout << "mix,product_share,duty\n";
  for (const PowerMix& mix : power_mixes) {
    std::cout << mix.name << ',' << mix.product_share << ',' << mix.duty << '\n';
  }
}

double burst_us(BoostTimer& timer, cudaStream_t stream, const Launch& launch, std::int64_t copies) {
  constexpr double duty = 0.1;
  TimingPlan timing{.min_launches = copies};
  timing.rule.budget_s = 0.3;
  return timer.time(stream, launch, timing, duty).time.us.median;
}

// Products and copies, and the memory they work on.
class Bench {
 public:
  explicit Bench(const Session& session)
      : timer_(session.nvml(), session.device().pci_bus_id),
        copy_bytes_(std::min<std::int64_t>(1LL << 30, free_device_bytes() / 10) / 256 * 256),
        from_(make_device_memory(copy_bytes_)),
        to_(make_device_memory(copy_bytes_)),
        pools_(session.device().l2_bytes, free_device_bytes(), stream_.get()) {
    launch_fill_normal(Dtype::bf16, from_.get(), copy_bytes_ / 2, 1, stream_.get());
    check_launch("fill_normal");
    check(cudaStreamSynchronize(stream_.get()), "fill_normal");
  }

  cudaStream_t stream() const { return stream_.get(); }

  // GpuError on a card without bf16 products, or with too little memory.
  MixWork product(const GemmShape& shape) {
    constexpr std::int64_t most_copies = 64;
    auto plan = library_.plan(shape);
    const auto operands = pools_.place(shape, most_copies);
    if (!plan || !operands) throw GpuError("this GPU cannot compute or hold a bf16 product");
    const Launch launch =
        [this, at = *operands, own = std::make_shared<GemmPlan>(std::move(*plan))](
            cudaStream_t stream, std::int64_t i) {
          const std::int64_t copy = i % at.copies;
          library_.launch(*own,
                          at.left + copy * at.in_stride,
                          at.right + copy * at.in_stride,
                          at.out + copy * at.out_stride,
                          stream);
        };
    const std::int64_t bytes = left_bytes(shape) + right_bytes(shape) + output_bytes(shape);
    return {.launch = launch,
            .flop = flops(shape),
            .bytes = static_cast<double>(bytes),
            .burst_us = burst_us(timer_, stream(), launch, operands->copies)};
  }

  MixWork copy() {
    const Launch launch = [this](cudaStream_t stream, std::int64_t) {
      launch_copy(from_.get(), to_.get(), copy_bytes_, stream);
      check_launch("copy");
    };
    return {.launch = launch,
            .flop = 0,
            .bytes = 2 * static_cast<double>(copy_bytes_),
            .burst_us = burst_us(timer_, stream(), launch, 1)};
  }

 private:
  Stream stream_ = make_stream();
  LtGemm library_;
  BoostTimer timer_;
  std::int64_t copy_bytes_;
  DeviceMemory from_;
  DeviceMemory to_;
  OperandPools pools_;
};

// What the driver says of the card, without which no power can be modelled.
struct Limits {
  double highest_mhz;
  double power_w;
};

Limits require_limits(const Session& session) {
  const std::string& id = session.device().pci_bus_id;
  const Limits limits{.highest_mhz = session.nvml().highest_sm_mhz(id),
                      .power_w = session.nvml().power_limit_w(id)};
  if (!session.nvml().sample(id).valid || limits.highest_mhz <= 0 || limits.power_w <= 0) {
    throw GpuError("the driver's management library (NVML) does not tell power and clock here");
  }
  return limits;
}

// The time of the point is that of a product, else of a copy, else the time the card was idle.
Summary time_of(const MixResult& result) {
  if (result.product_us) return *result.product_us;
  if (result.copy_us) return *result.copy_us;
  return scaled({.median = 1, .q1 = 1, .q3 = 1, .mad = 0, .min = 1, .n = 1}, result.wall_s * 1e6);
}

Point point_of(const PowerMix& mix,
               const MixResult& result,
               const MixWork& product,
               const MixWork& copy,
               const Limits& limits) {
  const auto products = static_cast<double>(result.products);
  const auto copies = static_cast<double>(result.copies);
  const double flop = products * product.flop + copies * copy.flop;
  const double bytes = products * product.bytes + copies * copy.bytes;
  Point point{.op = "power",
              .shape = {field("mix", mix.name)},
              .time_us = time_of(result),
              .results = {field("flop_per_s", flop / result.wall_s),
                          field("bytes_per_s", bytes / result.wall_s),
                          field("busy_share", result.busy_s / result.wall_s),
                          field("power_W", result.meter.mean_watts()),
                          field("power_from", result.meter.from_energy() ? "energy" : "sensor"),
                          field("power_limit_W", limits.power_w),
                          field("sm_MHz", result.meter.mean_mhz()),
                          field("sm_max_MHz", limits.highest_mhz),
                          field("throttle", throttle_text(result.meter.throttle())),
                          field("readings", result.meter.readings())}};
  if (result.product_us) {
    point.results.push_back(field("gemm_us", result.product_us->median));
    point.results.push_back(field("gemm_burst_us", product.burst_us));
  }
  return point;
}

void measure(const Tool& self, const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  Session session(self, options, options.device, method, true);
  const Limits limits = require_limits(session);
  session.add_library("cublaslt", LtGemm::version_text());
  Bench bench(session);
  const MixWork large = bench.product(large_product);
  const MixWork small = bench.product(small_product);
  const MixWork copy = bench.copy();
  // Memory, random numbers and bursts have taken their part.
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  const MixTimes times = mix_times(options.full, options.budget_s - spent.count());
  std::size_t done = 0;
  for (const PowerMix& mix : power_mixes) {
    if (!session.go_on()) break;
    session.progress().show(++done, power_mixes.size(), mix.name);
    if (session.log().has("power", {field("mix", mix.name)})) continue;
    const MixWork& product = mix.product == MixProduct::small ? small : large;
    MixRun run(session.nvml(), session.device().pci_bus_id, bench.stream(), product, copy);
    session.log().add(point_of(mix, run.run(mix, times), product, copy, limits));
  }
  session.finish(done == power_mixes.size());
}

}  // namespace
}  // namespace stepsight::calibrate

int main(int argc, char** argv) {
  namespace self = stepsight::calibrate;
  return self::run_main(self::tool, argc, argv, self::list, self::measure);
}
