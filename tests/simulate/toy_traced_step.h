// A traced step made up of whole milliseconds, for tests that compute what must come out.
#pragma once
#include "model/traced_step.h"
#include "tests/simulate/toy_scenario.h"

namespace stepsight {

// Kernels of 1 ms: two of forward, three of backward, one of the optimizer. The second and third of
// backward each complete a gradient of 10 million elements (40 MB); issuing a kernel takes 10 us.
inline TracedStep toy_traced_step() {
  TracedStep s;
  s.file = "toy.json";
  const auto add = [&](StepPart part, KernelKind kind) {
    TracedKernel k;
    k.seconds = 1e-3;
    k.issue_seconds = 10e-6;
    k.part = part;
    k.kind = kind;
    s.kernels.push_back(k);
    IssueCount& count = s.issue[static_cast<std::size_t>(part)];
    ++count.operators;
    count.seconds += k.issue_seconds;
  };
  add(StepPart::forward, KernelKind::product);
  add(StepPart::forward, KernelKind::memory);
  add(StepPart::backward, KernelKind::product);
  add(StepPart::backward, KernelKind::product);
  add(StepPart::backward, KernelKind::attention);
  add(StepPart::optimizer, KernelKind::memory);
  s.gradients = {{4, 10'000'000, 2e-3}, {5, 10'000'000, 1e-3}};
  s.backward_end = 5;
  s.sizes_recorded = true;
  return s;
}

// The toy card without gaps between kernels, slow-down or costs of the host beyond those of the
// trace.
inline GpuProfile plain_gpu() {
  GpuProfile gpu = toy_gpu();
  gpu.launch.stream_gap_us = 0;
  gpu.overlap = {1, 1, 1, 1, 1, 1};
  gpu.host.bucket_tensor_us = gpu.host.collective_us = 0;
  return gpu;
}

}  // namespace stepsight
