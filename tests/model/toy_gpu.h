// A card with round numbers and no measured points, for tests that do not ask about a real one.
#pragma once
#include "model/profile.h"

namespace stepsight {

// 100 multiprocessors, 80 GB, class values everywhere. "wire" joins 2, 4 or 8 of them: 20 us a
// message, 100 GB/s of bus bandwidth, no ramp.
inline GpuProfile toy_gpu() {
  GpuProfile gpu;
  gpu.name = "toy";
  gpu.title = "Toy card";
  gpu.multiprocessors = 100;
  gpu.memory_bytes = 80e9;
  gpu.l2_bytes = 40e6;
  gpu.hbm_TBps = 4;
  gpu.vendor_TFLOPS.fill(800);
  gpu.gemm.fill(class_values<GemmParameters>());
  gpu.attention.fill(class_values<AttentionParameters>());
  gpu.convolution.fill(class_values<ConvolutionParameters>());
  gpu.pass.fill(class_values<PassParameters>());
  gpu.host = class_values<HostParameters>();
  gpu.host_to_device = class_values<CopyParameters>();
  gpu.device_to_host = class_values<CopyParameters>();
  gpu.overlap = class_values<OverlapParameters>();
  gpu.power = class_values<PowerParameters>();
  for (const std::int64_t ranks : {2, 4, 8}) {
    gpu.collectives.push_back(
        {"wire", CollectiveKind::all_reduce, ranks, {20, 0, 100}, MeasuredCurve{}, "a test"});
  }
  return gpu;
}

}  // namespace stepsight
