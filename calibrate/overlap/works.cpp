#include "calibrate/overlap/works.h"

#include <memory>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/kernels.h"
#include "calibrate/gemm/lt_gemm.h"

namespace stepsight::calibrate {
namespace {

DeviceMemory random_memory(std::int64_t bytes) {
  DeviceMemory memory = make_device_memory(bytes);
  launch_fill_normal(Dtype::bf16, memory.get(), bytes / 2, 1, nullptr);
  check_launch("fill_normal");
  check(cudaDeviceSynchronize(), "fill_normal");
  return memory;
}

// What a kind of work owns on one device.
struct GemmState {
  Stream stream = make_stream();
  LtGemm library;
  std::optional<GemmPlan> plan;
  DeviceMemory left;
  DeviceMemory right;
  DeviceMemory out;
};

struct CopyState {
  Stream stream = make_stream();
  DeviceMemory from;
  DeviceMemory to;
  PinnedMemory host;
};

// Makes one `State` a device by `make`, and a launch that runs `once(state)` on each of them.
template <typename State, typename Make, typename Once>
Work make_work(const std::vector<int>& devices,
               const char* role,
               std::string name,
               std::int64_t bytes,
               Make make,
               Once once) {
  auto states = std::make_shared<std::vector<State>>();
  Work work{.role = role,
            .name = std::move(name),
            .bytes = bytes,
            .channels = 0,
            .devices = devices,
            .streams = {},
            .launch = nullptr};
  for (const int device : devices) {
    check(cudaSetDevice(device), "cudaSetDevice");
    states->push_back(make());
    work.streams.push_back(states->back().stream.get());
  }
  work.launch = [states, devices, once] {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      check(cudaSetDevice(devices[i]), "cudaSetDevice");
      once((*states)[i]);
    }
  };
  return work;
}

void copy_async(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
        "cudaMemcpyAsync");
}

}  // namespace

Work gemm_work(const std::vector<int>& devices, const std::string& name, const GemmShape& shape) {
  const auto make = [&shape] {
    GemmState state;
    state.plan = state.library.plan(shape);
    if (!state.plan) throw GpuError("this GPU has no bf16 products");
    state.left = random_memory(left_bytes(shape));
    state.right = random_memory(right_bytes(shape));
    state.out = make_device_memory(output_bytes(shape));
    return state;
  };
  return make_work<GemmState>(devices, "gemm", name, 0, make, [](const GemmState& s) {
    s.library.launch(*s.plan, s.left.get(), s.right.get(), s.out.get(), s.stream.get());
  });
}

Work memory_work(const std::vector<int>& devices, std::int64_t bytes) {
  const auto make = [bytes] {
    CopyState state;
    state.from = random_memory(bytes);
    state.to = make_device_memory(bytes);
    return state;
  };
  return make_work<CopyState>(devices, "memory", "copy", bytes, make, [bytes](const CopyState& s) {
    launch_copy(s.from.get(), s.to.get(), bytes, s.stream.get());
    check_launch("copy");
  });
}

Work few_blocks_work(int device, std::int64_t bytes, int blocks) {
  const auto make = [bytes] {
    CopyState state;
    state.from = random_memory(bytes);
    state.to = make_device_memory(bytes);
    return state;
  };
  const std::string name = "copy_by_" + std::to_string(blocks) + "_blocks";
  return make_work<CopyState>({device}, "blocks", name, bytes, make, [=](const CopyState& s) {
    launch_copy_by_few(s.from.get(), s.to.get(), bytes, blocks, s.stream.get());
    check_launch("copy_by_few");
  });
}

Work host_copy_work(int device, HostCopy kind, std::int64_t bytes) {
  const auto make = [bytes] {
    CopyState state;
    state.from = random_memory(bytes);
    state.host = make_pinned_memory(bytes);
    return state;
  };
  constexpr std::array<const char*, 3> names{"d2h", "h2d", "loopback"};
  return make_work<CopyState>({device},
                              "copy",
                              names[static_cast<std::size_t>(kind)],
                              bytes,
                              make,
                              [=](const CopyState& s) {
                                if (kind != HostCopy::h2d)
                                  copy_async(s.host.get(), s.from.get(), bytes, s.stream.get());
                                if (kind != HostCopy::d2h)
                                  copy_async(s.from.get(), s.host.get(), bytes, s.stream.get());
                              });
}

}  // namespace stepsight::calibrate
