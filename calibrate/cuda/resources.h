// CUDA objects that free themselves. Whatever is made belongs to the device that is current then.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <cuda_runtime_api.h>

namespace stepsight::calibrate {

// Errors while freeing are not reported: the error that led there already is.
struct StreamFree {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
struct EventFree {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
struct GraphFree {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
struct DeviceFree {
  void operator()(void* memory) const { cudaFree(memory); }
};
struct PinnedFree {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};

using Stream = std::unique_ptr<CUstream_st, StreamFree>;
using Event = std::unique_ptr<CUevent_st, EventFree>;
using GraphExec = std::unique_ptr<CUgraphExec_st, GraphFree>;
using DeviceMemory = std::unique_ptr<void, DeviceFree>;
using PinnedMemory = std::unique_ptr<void, PinnedFree>;

Stream make_stream();  // does not wait for the default stream
Event make_event();    // with timing

// GpuError when there is not enough memory. `bytes` > 0.
DeviceMemory make_device_memory(std::int64_t bytes);
PinnedMemory make_pinned_memory(std::int64_t bytes);  // touched, so that its pages are there

// What `record` issues on `stream`, as a graph that can be launched again and again.
GraphExec capture(cudaStream_t stream, const std::function<void()>& record);

// Seconds from `begin` to `end`, both recorded and passed.
double elapsed_s(const Event& begin, const Event& end);

// Free bytes of the current device.
std::int64_t free_device_bytes();

}  // namespace stepsight::calibrate
