#include "calibrate/nccl/collective_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/kernels.h"
#include "calibrate/measure/stopping_rule.h"

namespace stepsight::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr double longest_hold_s = 0.1;

// Ranges of a receive buffer of `total` elements that are looked at.
struct Range {
  std::int64_t first;
  std::int64_t count;
};

std::vector<Range> checked_ranges(std::int64_t total, int blocks) {
  constexpr std::int64_t whole = (1 << 20) / 4;
  constexpr std::int64_t edge = 256;
  if (total <= whole) return {{0, total}};
  std::vector<Range> ranges;
  const std::int64_t block = total / blocks;
  for (int i = 0; i < blocks; ++i) {
    const std::int64_t count = std::min(edge, block);
    ranges.push_back({i * block, count});
    ranges.push_back({(i + 1) * block - count, count});
  }
  return ranges;
}

std::int64_t wrong_in(const Member& member,
                      int n,
                      CollectiveKind kind,
                      const Buffers& buffers,
                      std::int64_t elements) {
  const std::int64_t total = buffer_elements(info(kind).receive, elements, n);
  std::vector<float> host;
  std::int64_t wrong = 0;
  for (const Range range : checked_ranges(total, n)) {
    host.resize(static_cast<std::size_t>(range.count));
    check(cudaMemcpy(host.data(),
                     buffers.receive + range.first,
                     host.size() * sizeof(float),
                     cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    for (std::int64_t i = 0; i < range.count; ++i) {
      const float expected = expected_value(kind, member.rank, n, elements, range.first + i);
      // Also true for the NaN that an element never written holds.
      if (!(host[static_cast<std::size_t>(i)] == expected)) ++wrong;
    }
  }
  return wrong;
}

// The events and the holding kernel of one sample, on every member.
class Stopwatch {
 public:
  explicit Stopwatch(const Group& group) : group_(group) {
    for (const Member& member : group.members) {
      check(cudaSetDevice(member.device), "cudaSetDevice");
      begin_.push_back(make_event());
      end_.push_back(make_event());
    }
  }

  // Seconds of `launches` collectives, the slowest member's; 0 without members. `hold_s`: for how
  // long the streams are held while the host issues; comes back as what the host needed.
  double sample(CollectiveKind kind,
                const std::vector<Buffers>& buffers,
                std::int64_t elements,
                std::int64_t launches,
                double& hold_s) {
    const Clock::time_point issued = Clock::now();
    on_each([&](const Member& member, std::size_t) {
      launch_spin(static_cast<std::int64_t>(hold_s * 1e9), member.stream.get());
      check_launch("spin");
    });
    launch_collective(group_, CollectiveKind::all_reduce, buffers, group_.n);
    record(begin_);
    for (std::int64_t i = 0; i < launches; ++i) launch_collective(group_, kind, buffers, elements);
    record(end_);
    hold_s = std::min(seconds_since(issued) * 1.5 + 1e-4, longest_hold_s);
    wait(group_);
    double slowest = 0;
    for (std::size_t i = 0; i < begin_.size(); ++i) {
      slowest = std::max(slowest, elapsed_s(begin_[i], end_[i]));
    }
    return slowest;
  }

 private:
  template <typename Do>
  void on_each(Do action) {
    for (std::size_t i = 0; i < group_.members.size(); ++i) {
      check(cudaSetDevice(group_.members[i].device), "cudaSetDevice");
      action(group_.members[i], i);
    }
  }

  void record(const std::vector<Event>& events) {
    on_each([&](const Member& member, std::size_t i) {
      check(cudaEventRecord(events[i].get(), member.stream.get()), "cudaEventRecord");
    });
  }

  const Group& group_;
  std::vector<Event> begin_;
  std::vector<Event> end_;
};

}  // namespace

CollectiveMemory::CollectiveMemory(const std::vector<int>& devices, std::int64_t bytes) {
  for (const int device : devices) {
    check(cudaSetDevice(device), "cudaSetDevice");
    slabs_.push_back({.device = device,
                      .send = make_device_memory(bytes),
                      .receive = make_device_memory(bytes)});
  }
}

std::vector<Buffers> CollectiveMemory::buffers(const Group& group) const {
  std::vector<Buffers> result;
  for (const Member& member : group.members) {
    const auto slab = std::find_if(slabs_.begin(), slabs_.end(), [&member](const Slab& s) {
      return s.device == member.device;
    });
    if (slab == slabs_.end()) throw std::logic_error("no memory for a member's device");
    result.push_back({.send = static_cast<const float*>(slab->send.get()),
                      .receive = static_cast<float*>(slab->receive.get())});
  }
  return result;
}

std::int64_t count_wrong(World& world,
                         const Group& group,
                         CollectiveKind kind,
                         const std::vector<Buffers>& buffers,
                         std::int64_t elements) {
  const CollectiveRow& row = info(kind);
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const Member& member = group.members[i];
    check(cudaSetDevice(member.device), "cudaSetDevice");
    launch_fill_pattern(const_cast<float*>(buffers[i].send),
                        buffer_elements(row.send, elements, group.n),
                        member.rank,
                        member.stream.get());
    check_launch("fill_pattern");
    const std::int64_t received = buffer_elements(row.receive, elements, group.n);
    check(
        cudaMemsetAsync(
            buffers[i].receive, 0xff, static_cast<std::size_t>(received) * 4, member.stream.get()),
        "cudaMemsetAsync");
  }
  launch_collective(group, kind, buffers, elements);
  wait(group);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    check(cudaSetDevice(group.members[i].device), "cudaSetDevice");
    wrong += wrong_in(group.members[i], group.n, kind, buffers[i], elements);
  }
  return static_cast<std::int64_t>(world.largest({static_cast<double>(wrong)}).front());
}

Summary time_collective(World& world,
                        const Group& group,
                        CollectiveKind kind,
                        const std::vector<Buffers>& buffers,
                        std::int64_t elements,
                        double budget_s) {
  constexpr double sample_s = 2e-3;
  constexpr double most_launches = 50;
  const StoppingRule rule{.min_samples = 5,
                          .max_samples = 25,
                          .target_spread = 0.01,
                          .budget_s = budget_s,
                          .least_samples = 3};
  Stopwatch stopwatch(group);
  double hold_s = 1e-3;
  stopwatch.sample(kind, buffers, elements, 1, hold_s);  // opens connections for this size
  const double once_s = world.largest({stopwatch.sample(kind, buffers, elements, 1, hold_s)})[0];
  const double wanted =
      std::clamp(std::ceil(sample_s / std::max(once_s, 1e-6)), 1.0, most_launches);
  const auto launches = static_cast<std::int64_t>(wanted);
  hold_s = std::min(hold_s * wanted, longest_hold_s);
  std::vector<double> samples;
  const Clock::time_point begin = Clock::now();
  double elapsed_s_so_far = 0;
  while (judge(rule, samples, elapsed_s_so_far) == StopReason::keep_going) {
    const double seconds = stopwatch.sample(kind, buffers, elements, launches, hold_s);
    // Every process sees the same numbers and so takes the same decision.
    const std::vector<double> agreed = world.largest({seconds, seconds_since(begin)});
    samples.push_back(agreed[0] * 1e6 / wanted);
    elapsed_s_so_far = agreed[1];
  }
  return summarize(samples);
}

}  // namespace stepsight::calibrate
