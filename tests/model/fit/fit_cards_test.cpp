// Profiles of cards of which only some products were measured: what stands in for the rest.
#include <algorithm>
#include <string>

#include "model/cost.h"
#include "model/fit/fit_profile.h"
#include "tests/catch2.h"
#include "tests/model/toy_gpu.h"

using namespace stepsight;

namespace {

std::size_t at(Dtype type) {
  return static_cast<std::size_t>(type);
}

// Large products of one format, all bound by arithmetic, as a card of these parameters runs them.
Measurements products(Dtype type, const GemmParameters<double>& truth, int multiprocessors) {
  Measurements m;
  m.sources = {"made up"};
  for (const std::int64_t size : {1024, 1536, 2048, 3072, 4096, 6144, 8192}) {
    for (const std::int64_t k : {1024, 4096, 8192}) {
      const Gemm gemm{size, 2 * size, k, 1, type, Layout::TN};
      m.gemms.push_back({gemm, gemm_formula(gemm, truth, {multiprocessors}).value * 1e6, 0});
    }
  }
  return m;
}

GpuProfile half_card() {
  GpuProfile gpu = toy_gpu();
  gpu.name = "half";
  for (double& rate : gpu.vendor_TFLOPS) rate /= 2;
  gpu.hbm_TBps /= 4;
  return gpu;
}

}  // namespace

TEST_CASE("formats that were not measured take the measured one's utilisation") {
  const GpuProfile card = half_card();
  GemmParameters<double> truth = class_values<GemmParameters>();
  truth.peak_TFLOPS = 250;
  truth.bandwidth_TBps = 0.75;
  FitOptions options;
  options.reference = toy_gpu();
  const Measurements m = products(Dtype::fp16, truth, card.multiprocessors);
  const GpuProfile fitted = fit_profile(card, m, options).profile;
  CHECK(fitted.gemm[at(Dtype::fp16)].peak_TFLOPS == Approx(250).epsilon(0.03));
  CHECK(fitted.gemm[at(Dtype::bf16)].peak_TFLOPS == fitted.gemm[at(Dtype::fp16)].peak_TFLOPS);
  CHECK(fitted.gemm[at(Dtype::tf32)].peak_TFLOPS == fitted.gemm[at(Dtype::fp16)].peak_TFLOPS);
  // fp32 does not run on tensor cores: the reference's utilisation.
  CHECK(fitted.gemm[at(Dtype::fp32)].peak_TFLOPS == Approx(600.0 / 2));
}

TEST_CASE("a format that the card does not offer runs as its fp32 products do") {
  GpuProfile card = half_card();
  card.vendor_TFLOPS[at(Dtype::bf16)] = 0;
  GemmParameters<double> truth = class_values<GemmParameters>();
  truth.peak_TFLOPS = 120;
  FitOptions options;
  options.reference = toy_gpu();
  const Measurements m = products(Dtype::fp32, truth, card.multiprocessors);
  const GpuProfile fitted = fit_profile(card, m, options).profile;
  CHECK(fitted.gemm[at(Dtype::bf16)].peak_TFLOPS == fitted.gemm[at(Dtype::fp32)].peak_TFLOPS);
  CHECK(fitted.gemm[at(Dtype::bf16)].peak_TFLOPS == Approx(120).epsilon(0.03));
}

TEST_CASE("products bound by arithmetic leave the bandwidth where the card's memory puts it") {
  const GpuProfile card = half_card();
  GemmParameters<double> truth = class_values<GemmParameters>();
  truth.peak_TFLOPS = 30;  // so slow that no product feels the memory
  FitOptions options;
  options.reference = toy_gpu();
  const Measurements m = products(Dtype::fp16, truth, card.multiprocessors);
  const GpuProfile fitted = fit_profile(card, m, options).profile;
  CHECK(fitted.gemm[at(Dtype::fp16)].bandwidth_TBps == Approx(3.0 / 4).epsilon(0.05));
}
