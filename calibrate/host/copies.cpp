#include "calibrate/host/copies.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <optional>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/resources.h"
#include "calibrate/cuda/timing.h"
#include "calibrate/measure/sizes.h"

namespace stepsight::calibrate {
namespace {

constexpr StoppingRule copy_rule{.min_samples = 5,
                                 .max_samples = 25,
                                 .target_spread = 0.005,
                                 .budget_s = 0.1,
                                 .least_samples = 3};

struct Buffers {
  Stream stream;
  DeviceMemory device;
  PinnedMemory pinned;
  std::vector<char> pageable;
};

Buffers make_buffers(std::int64_t bytes) {
  return {.stream = make_stream(),
          .device = make_device_memory(bytes),
          .pinned = make_pinned_memory(bytes),
          .pageable = std::vector<char>(static_cast<std::size_t>(bytes), 1)};
}

void copy_async(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
        "cudaMemcpyAsync");
}

// Direct launches: copies in graphs are scheduled differently from those that frameworks issue.
Summary time_async(cudaStream_t stream, const std::function<void(cudaStream_t)>& copy) {
  const TimingPlan plan{.rule = copy_rule, .max_launches = 100, .graph = false};
  return time_on_gpu(
             stream, [&](cudaStream_t s, std::int64_t) { copy(s); }, plan)
      .us;
}

// Pageable memory goes through a staging buffer by the host's hand, so it is the host's clock that
// counts; cudaMemcpy of up to 64 KiB to the device returns before the data has arrived, hence the
// wait in the call.
Summary time_blocking(cudaStream_t stream, const std::function<void()>& copy, std::int64_t bytes) {
  const auto wait = [&] {
    copy();
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  };
  return time_issue_us(stream, wait, bytes < (1 << 20) ? 20 : 1, copy_rule);
}

struct Copy {
  std::string op;
  Record shape;
  std::int64_t bytes;
  std::function<Summary()> measure;
};

void add_host_copies(std::vector<Copy>& list, Buffers& b, std::int64_t bytes) {
  const cudaStream_t stream = b.stream.get();
  void* device = b.device.get();
  void* pinned = b.pinned.get();
  void* pageable = b.pageable.data();
  const Record shape{field("bytes", bytes)};
  const auto async = [=](void* to, const void* from) {
    return
        [=] { return time_async(stream, [=](cudaStream_t s) { copy_async(to, from, bytes, s); }); };
  };
  const auto blocking = [=](void* to, const void* from) {
    return [=] {
      return time_blocking(
          stream, [=] { copy_async(to, from, bytes, stream); }, bytes);
    };
  };
  list.push_back({"h2d", shape, bytes, async(device, pinned)});
  list.push_back({"d2h", shape, bytes, async(pinned, device)});
  list.push_back({"loopback", shape, bytes, [=] {
                    return time_async(stream, [=](cudaStream_t s) {
                      copy_async(pinned, device, bytes, s);
                      copy_async(device, pinned, bytes, s);
                    });
                  }});
  list.push_back({"h2d_pageable", shape, bytes, blocking(device, pageable)});
  list.push_back({"d2h_pageable", shape, bytes, blocking(pageable, device)});
}

bool add_all(Session& session, const std::vector<Copy>& list) {
  std::size_t done = 0;
  for (const Copy& copy : list) {
    if (!session.go_on()) return false;
    session.progress().show(++done, list.size(), copy.op + ' ' + format_size(copy.bytes));
    if (session.log().has(copy.op, copy.shape)) continue;
    const Summary time = copy.measure();
    const double gbps = static_cast<double>(copy.bytes) / time.median * 1e-3;
    session.log().add(
        {.op = copy.op, .shape = copy.shape, .time_us = time, .results = {field("GBps", gbps)}});
  }
  return true;
}

// Memory of `source` copied to `target`, driven from a stream of the source, as NCCL and frameworks
// do. `direct`: the GPUs reach each other's memory; otherwise the driver goes through the host.
bool measure_pair(Session& session,
                  int source,
                  int target,
                  const std::vector<std::int64_t>& sizes) {
  const std::int64_t most = sizes.back();
  int direct = 0;
  check(cudaDeviceCanAccessPeer(&direct, source, target), "cudaDeviceCanAccessPeer");
  check(cudaSetDevice(target), "cudaSetDevice");
  const DeviceMemory to = make_device_memory(most);
  check(cudaSetDevice(source), "cudaSetDevice");
  if (direct != 0) {
    const cudaError_t status = cudaDeviceEnablePeerAccess(target, 0);
    if (status != cudaErrorPeerAccessAlreadyEnabled) check(status, "cudaDeviceEnablePeerAccess");
    cudaGetLastError();  // "already enabled" must not appear at the next launch
  }
  const DeviceMemory from = make_device_memory(most);
  const Stream stream = make_stream();
  std::vector<Copy> list;
  for (const std::int64_t bytes : sizes) {
    const Record shape{field("bytes", bytes),
                       field("source", source),
                       field("target", target),
                       field("direct", direct != 0)};
    list.push_back(
        {"p2p", shape, bytes, [&, bytes] {
           return time_async(stream.get(), [&, bytes](cudaStream_t s) {
             check(cudaMemcpyPeerAsync(
                       to.get(), target, from.get(), source, static_cast<std::size_t>(bytes), s),
                   "cudaMemcpyPeerAsync");
           });
         }});
  }
  return add_all(session, list);
}

bool measure_peers(Session& session, bool full) {
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  const int own = session.device().index;
  const auto sizes = size_ladder(1LL << 10, 256LL << 20, full ? 4 : 64);
  bool all = true;
  for (int source = 0; source < gpus && all; ++source) {
    for (int target = 0; target < gpus && all; ++target) {
      // Quick: what leaves and what reaches the chosen GPU.
      const bool wanted = full || source == own || target == own;
      if (source != target && wanted) all = measure_pair(session, source, target, sizes);
    }
  }
  check(cudaSetDevice(own), "cudaSetDevice");
  return all;
}

double number(const Record& record, std::string_view key) {
  const FieldValue* value = find(record, key);
  if (value == nullptr) return 0;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(value);
  return real == nullptr ? 0 : *real;
}

std::string text(const Record& record, std::string_view key) {
  const FieldValue* value = find(record, key);
  const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return word == nullptr ? "" : *word;
}

}  // namespace

std::vector<std::int64_t> copy_sizes(bool full) {
  return full ? size_ladder(1LL << 10, 1LL << 30, 2) : size_ladder(1LL << 10, 256LL << 20, 4);
}

bool measure_copies(Session& session, bool full) {
  const std::vector<std::int64_t> sizes = copy_sizes(full);
  Buffers buffers = make_buffers(sizes.back());
  std::vector<Copy> list;
  for (const std::int64_t bytes : sizes) add_host_copies(list, buffers, bytes);
  return add_all(session, list) && measure_peers(session, full);
}

void add_copy_fits(MeasurementLog& log) {
  constexpr std::array<std::string_view, 5> ops{
      "h2d", "d2h", "loopback", "h2d_pageable", "d2h_pageable"};
  struct Line {
    std::vector<double> bytes;
    std::vector<double> seconds;
  };
  std::map<std::string, Line> lines;
  for (const Record& point : log.points()) {
    const std::string op = text(point, "op");
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) continue;
    Line& line = lines["fit_" + op];
    line.bytes.push_back(number(point, "bytes"));
    line.seconds.push_back(number(point, "median_us") * 1e-6);
  }
  for (const auto& [name, line] : lines) {
    if (line.bytes.size() < 3) continue;
    const StartupFit fit = fit_startup(line.bytes, line.seconds);
    log.set_section(name,
                    {field("startup_us", fit.startup_s * 1e6),
                     field("GBps", fit.bytes_per_s * 1e-9),
                     field("points", line.bytes.size())});
  }
}

}  // namespace stepsight::calibrate
