// Scenarios on the toy card of tests/model/toy_gpu.h.
#pragma once
#include "model/scenario.h"
#include "simulate/predict.h"
#include "tests/model/toy_gpu.h"

namespace stepsight {

// A small Llama: 8 blocks of 2048, 0.6 billion parameters in 75 tensors.
inline ModelShape toy_llama() {
  ModelShape s;
  s.name = "toy-llama";
  s.family = Family::llama;
  s.layers = 8;
  s.hidden = 2048;
  s.heads = 16;
  s.kv_heads = 8;
  s.head_dim = 128;
  s.ffn = 5632;
  s.vocab = 32000;
  s.gated_ffn = s.rms_norm = s.rotary = true;
  return s;
}

inline Scenario toy_scenario(std::int64_t gpus) {
  Scenario s;
  s.model = toy_llama();
  s.training.batch = 4;
  s.training.seq = 2048;
  s.cluster.gpu = "toy";
  s.cluster.gpus = gpus;
  if (gpus > 1) s.cluster.link = "wire";
  return s;
}

// The toy card with a host that takes `us` for every operator.
inline GpuProfile toy_gpu_with_host(double us) {
  GpuProfile gpu = toy_gpu();
  for (const auto& field : HostParameters<double>::fields()) gpu.host.*field.member = us;
  return gpu;
}

inline GpuProfile with_busbw(GpuProfile gpu, double busbw_GBps) {
  for (CollectiveCurve& curve : gpu.collectives) curve.parameters.busbw_GBps = busbw_GBps;
  return gpu;
}

}  // namespace stepsight
