#include "calibrate/power/mix_run.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "calibrate/cuda/check.h"

namespace stepsight::calibrate {
namespace {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::duration<double>;

constexpr Duration read_every{0.005};

void record(const Event& event, cudaStream_t stream) {
  check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
}

// Microseconds of one instance, or none.
std::optional<Summary> summary_of(const std::vector<double>& us) {
  if (us.empty()) return std::nullopt;
  return summarize(us);
}

}  // namespace

MixRun::MixRun(const Nvml& nvml,
               std::string pci_bus_id,
               cudaStream_t stream,
               const MixWork& product,
               const MixWork& copy)
    : nvml_(nvml),
      pci_bus_id_(std::move(pci_bus_id)),
      stream_(stream),
      product_(product),
      copy_(copy) {}

MixRun::Issued MixRun::issue(const Slice& slice) {
  Issued issued{.slice = slice, .begin = make_event(), .middle = make_event(), .end = make_event()};
  record(issued.begin, stream_);
  for (std::int64_t i = 0; i < slice.products; ++i) product_.launch(stream_, launched_++);
  record(issued.middle, stream_);
  for (std::int64_t i = 0; i < slice.copies; ++i) copy_.launch(stream_, launched_++);
  record(issued.end, stream_);
  return issued;
}

// Does nothing while the card settles, and when the last reading was just now.
void MixRun::read(PowerMeter* meter) {
  const Clock::time_point now = Clock::now();
  if (meter == nullptr || now < next_read_) return;
  next_read_ = now + std::chrono::duration_cast<Clock::duration>(read_every);
  const Nvml::Sample sample = nvml_.sample(pci_bus_id_);
  if (!sample.valid) return;
  // The counter's time is that of its own reading, not of the ones before it.
  const std::optional<std::uint64_t> energy = nvml_.energy_mj(pci_bus_id_);
  meter->add({.time_s = Duration(Clock::now().time_since_epoch()).count(),
              .watts = sample.milliwatts * 1e-3,
              .sm_mhz = static_cast<double>(sample.sm_mhz),
              .millijoules = energy,
              .throttle = sample.throttle});
}

void MixRun::idle(double seconds, PowerMeter* meter) {
  const Clock::time_point begin = Clock::now();
  while (Duration(Clock::now() - begin).count() < seconds) {
    read(meter);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::vector<MixRun::Issued> MixRun::sustain(const PowerMix& mix,
                                            double seconds,
                                            PowerMeter* meter) {
  // Without gaps so many slices are queued that the card never waits for the host.
  const std::size_t queued = mix.duty < 1 ? 1 : 3;
  const Slice slice = slice_of(mix, product_.burst_us, copy_.burst_us);
  std::vector<Issued> all;
  const Clock::time_point begin = Clock::now();
  while (all.size() < 2 || Duration(Clock::now() - begin).count() < seconds) {
    all.push_back(issue(slice));
    read(meter);
    if (all.size() < queued) continue;
    check(cudaEventSynchronize(all[all.size() - queued].end.get()), "cudaEventSynchronize");
    if (mix.duty >= 1) continue;
    const double busy_us = elapsed_s(all.back().begin, all.back().end) * 1e6;
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(gap_us(mix, busy_us)));
  }
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  return all;
}

MixResult MixRun::run(const PowerMix& mix, const MixTimes& times) {
  MixResult result;
  if (mix.duty <= 0) {
    idle(times.settle_s, nullptr);
    idle(times.measure_s, &result.meter);
    result.wall_s = times.measure_s;
    return result;
  }
  sustain(mix, times.settle_s, nullptr);
  std::vector<Issued> slices = sustain(mix, times.measure_s, &result.meter);
  // Begin to begin, so that there are as many gaps as slices; the last only marks the end.
  result.wall_s = elapsed_s(slices.front().begin, slices.back().begin);
  slices.pop_back();
  std::vector<double> product_us;
  std::vector<double> copy_us;
  for (const Issued& issued : slices) {
    const double products_s = elapsed_s(issued.begin, issued.middle);
    const double copies_s = elapsed_s(issued.middle, issued.end);
    const auto products = static_cast<double>(issued.slice.products);
    const auto copies = static_cast<double>(issued.slice.copies);
    result.busy_s += products_s + copies_s;
    result.products += issued.slice.products;
    result.copies += issued.slice.copies;
    if (products > 0) product_us.push_back(products_s * 1e6 / products);
    if (copies > 0) copy_us.push_back(copies_s * 1e6 / copies);
  }
  result.product_us = summary_of(product_us);
  result.copy_us = summary_of(copy_us);
  return result;
}

}  // namespace stepsight::calibrate
