// The answer to a scenario: properties that hold whatever the numbers, on a toy card and on the
// H200.
#include "simulate/predict.h"

#include <algorithm>
#include <cmath>

#include "model/io/model_file.h"
#include "model/io/profile_file.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_scenario.h"

using namespace stepsight;

namespace {

const GpuProfile& h200() {
  static const GpuProfile profile = read_profile("h200-sxm");
  return profile;
}

Scenario on_h200(const char* model, std::int64_t gpus, std::int64_t batch, std::int64_t seq) {
  Scenario s;
  s.model = read_model(model);
  s.training.batch = batch;
  s.training.seq = seq;
  s.cluster.gpu = "h200-sxm";
  s.cluster.gpus = gpus;
  if (gpus > 1) s.cluster.link = link_names(h200()).front();
  return s;
}

}  // namespace

TEST_CASE("100 minutes on one card and 55 on two: a speed-up of 1.818, 90.9 % efficient") {
  const Scaling s = scaling(100, 1, 1, 55, 1, 2);
  CHECK(s.speedup == Approx(1.818).margin(5e-4));
  CHECK(s.efficiency == Approx(0.909).margin(5e-4));
}

TEST_CASE("weak scaling compares throughput, whatever the smallest count is") {
  // 2 GPUs do 8 samples in 1 s, 8 GPUs do 32 in 1.25 s: 3.2 times for 4 times the cards.
  const Scaling s = scaling(1, 8, 2, 1.25, 32, 8);
  CHECK(s.speedup == Approx(3.2));
  CHECK(s.efficiency == Approx(0.8));
}

TEST_CASE("one GPU is no communication, whatever the link's name") {
  Scenario s = toy_scenario(1);
  const Prediction alone = predict(s, toy_gpu());
  s.cluster.link = "wire";
  const Prediction named = predict(s, toy_gpu());
  CHECK(named.step.value == alone.step.value);
  CHECK(alone.communication_s == 0);
  CHECK(alone.exposed_s == 0);
  CHECK(alone.message_bytes == 0);
  CHECK(alone.attribution.alone == alone.step.value);
  CHECK(alone.memory.buckets == 0);
}

TEST_CASE("a faster link never makes a slower step") {
  GpuProfile gpu = toy_gpu();
  for (const double rate : {1.0, 0.8}) {
    for (const auto& field : OverlapParameters<double>::fields()) gpu.overlap.*field.member = rate;
    double before = 1e9;
    for (double busbw = 1; busbw < 2000; busbw *= 1.5) {
      const double step = predict_step(toy_scenario(8), with_busbw(gpu, busbw)).value;
      INFO(busbw << " GB/s");
      CHECK(step <= before * (1 + 1e-9));
      before = step;
    }
    before = 0;
    for (double latency = 1; latency < 1000; latency *= 2) {
      for (CollectiveCurve& curve : gpu.collectives) curve.parameters.latency_us = latency;
      const double step = predict_step(toy_scenario(8), gpu).value;
      CHECK(step >= before * (1 - 1e-9));
      before = step;
    }
  }
}

TEST_CASE("products and what memory bounds are slowed by rates of their own") {
  const auto step = [](double compute, double memory) {
    GpuProfile gpu = with_busbw(toy_gpu(), 300.0);
    for (const auto& field : OverlapParameters<double>::fields()) gpu.overlap.*field.member = 1;
    gpu.overlap.compute_under_collective = compute;
    gpu.overlap.memory_under_collective = memory;
    return predict_step(toy_scenario(2), gpu).value;
  };
  const double none = step(1, 1);
  const double products = step(0.6, 1);
  const double passes = step(1, 0.6);
  CHECK(products > none);
  CHECK(passes > none);
  CHECK(step(0.6, 0.6) > std::max(products, passes));
}

TEST_CASE("the parts of the attribution add up to the step") {
  for (const std::int64_t gpus : {1, 2, 4, 8}) {
    for (const double busbw : {3.0, 30.0, 300.0}) {
      const Prediction p = predict(toy_scenario(gpus), with_busbw(toy_gpu(), busbw));
      const Attribution& a = p.attribution;
      CHECK(a.alone + a.bucket_copies + a.slow_down + a.exposed ==
            Approx(p.step.value).epsilon(1e-12));
      CHECK(a.exposed >= 0);
      CHECK(a.slow_down >= 0);
      CHECK(a.bucket_copies >= 0);
    }
  }
}

TEST_CASE("communication that does not overlap is never faster") {
  for (const double busbw : {3.0, 30.0, 300.0}) {
    Scenario s = toy_scenario(8);
    const double overlapping = predict_step(s, with_busbw(toy_gpu(), busbw)).value;
    s.parallel.overlap = false;
    CHECK(predict_step(s, with_busbw(toy_gpu(), busbw)).value >= overlapping);
  }
  for (const char* model : {"gpt2-124m", "llama2-7b"}) {
    Scenario s = on_h200(model, 8, 4, 1024);
    const double overlapping = predict_step(s, h200()).value;
    s.parallel.overlap = false;
    CHECK(predict_step(s, h200()).value >= overlapping);
  }
}

TEST_CASE("the loop-back's copies lengthen communication k times") {
  GpuProfile gpu = toy_gpu();
  Scenario s = toy_scenario(1);
  s.cluster.link = "loopback:1";
  const Prediction once = predict(s, gpu);
  CHECK(once.communication_s > 0);
  for (const int k : {2, 4, 8}) {
    s.cluster.link = "loopback:" + std::to_string(k);
    CHECK(predict(s, gpu).communication_s == Approx(k * once.communication_s).epsilon(1e-3));
  }
}

TEST_CASE("accumulation under no_sync communicates as one micro-step does") {
  Scenario s = toy_scenario(4);
  const Prediction one = predict(s, toy_gpu());
  s.training.accumulation = 8;
  const Prediction eight = predict(s, toy_gpu());
  CHECK(eight.message_bytes == one.message_bytes);
  CHECK(eight.communication_s == Approx(one.communication_s).epsilon(0.05));
  CHECK(eight.step.value > 7 * one.attribution.alone);
  s.parallel.sync_each_micro_step = true;
  CHECK(predict(s, toy_gpu()).message_bytes == 8 * one.message_bytes);
}

TEST_CASE("more bytes of gradients never communicate for less") {
  Scenario s = toy_scenario(4);
  double before = 0;
  for (std::int64_t layers = 1; layers <= 16; layers *= 2) {
    s.model.layers = layers;
    const Prediction p = predict(s, toy_gpu());
    CHECK(p.communication_s > before);
    before = p.communication_s;
  }
  s = toy_scenario(4);
  const double narrow = predict(s, toy_gpu()).communication_s;
  s.training.gradient_dtype = Dtype::fp32;
  CHECK(predict(s, toy_gpu()).communication_s > 1.5 * narrow);
}

TEST_CASE("a larger batch is never a shorter step") {
  Scenario s = toy_scenario(2);
  double before = 0;
  for (std::int64_t batch = 1; batch <= 32; ++batch) {
    s.training.batch = batch;
    const double step = predict_step(s, toy_gpu()).value;
    INFO(batch);
    CHECK(step >= before);
    before = step;
  }
  // On a real card measured points scatter by their repeatability.
  for (const char* model : {"gpt2-124m", "llama2-7b"}) {
    before = 0;
    for (std::int64_t batch = 1; batch <= 16; ++batch) {
      const double step = predict_step(on_h200(model, 1, batch, 1024), h200()).value;
      INFO(model << " " << batch);
      CHECK(step >= 0.98 * before);
      before = step;
    }
  }
}

TEST_CASE("throughput, MFU and shares follow from the step") {
  Scenario s = toy_scenario(4);
  s.training.accumulation = 2;
  const Prediction p = predict(s, toy_gpu());
  CHECK(p.samples_per_s == Approx(4 * 2 * 4 / p.step.value));
  CHECK(p.tokens_per_s == Approx(2048 * p.samples_per_s));
  const double flop = 2 * step_work(s.model, s.training).model_flops.value;
  CHECK(p.mfu == Approx(flop / p.step.value / 800e12));
  CHECK(p.exposed_s <= p.communication_s);
  CHECK(p.communication_share == Approx(p.communication_s / p.step.value));
  CHECK(p.gpu_busy_s <= p.step.value * (1 + 1e-9));
}

TEST_CASE("a slow host bounds the step, a fast one does not") {
  const Prediction slow = predict(toy_scenario(1), toy_gpu_with_host(400));
  CHECK(slow.host_bound);
  CHECK(slow.step.value == Approx(slow.host_s).epsilon(0.02));
  const Prediction fast = predict(toy_scenario(1), toy_gpu_with_host(1));
  CHECK_FALSE(fast.host_bound);
  CHECK(fast.step.value == Approx(fast.gpu_busy_s).epsilon(0.01));
}

TEST_CASE("memory grows with the batch, and the largest batch fits where one more does not") {
  std::vector<std::pair<Scenario, const GpuProfile*>> all;
  static const GpuProfile toy = toy_gpu();
  for (const bool mixed : {false, true}) {
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      for (const std::int64_t accumulation : {1, 4}) {
        for (const std::int64_t gpus : {1, 8}) {
          Scenario s = toy_scenario(gpus);
          s.training.precision.mixed = mixed;
          s.training.recompute = recompute;
          s.training.accumulation = accumulation;
          all.emplace_back(s, &toy);
          s = on_h200("llama3.2-1b", gpus, 1, 4096);
          s.training.recompute = recompute;
          all.emplace_back(s, &h200());
          all.emplace_back(on_h200("gpt2-124m", gpus, 1, 128), &h200());
          s = on_h200("bert-large", gpus, 1, 512);
          s.training.precision.mixed = mixed;
          all.emplace_back(s, &h200());
        }
      }
    }
  }
  for (auto& [s, gpu] : all) {
    const auto memory = [&, gpu = gpu, &s = s](std::int64_t batch) {
      Scenario at = s;
      at.training.batch = batch;
      return memory_of(step_work(at.model, at.training), at, *gpu, at.cluster.gpus > 1);
    };
    const std::int64_t largest = memory(3).largest_batch;
    INFO(s.model.name << ", largest batch " << largest);
    REQUIRE(largest >= 1);
    CHECK(memory(largest).fits);
    CHECK_FALSE(memory(largest + 1).fits);
    CHECK(memory(largest).largest_batch == largest);  // the asked batch does not matter
    double before = 0;
    for (std::int64_t batch = 1; batch < 40; batch += 3) {
      CHECK(memory(batch).peak >= before);
      before = memory(batch).peak;
    }
  }
}

TEST_CASE("a model that does not fit at all has no largest batch") {
  const Scenario s = on_h200("llama2-70b", 1, 1, 2048);
  const Prediction p = predict(s, h200());
  CHECK_FALSE(p.memory.fits);
  CHECK(p.memory.largest_batch == 0);
  // 69 billion parameters: 2 bytes each for weights and gradients, 4 for AdamW's moments.
  CHECK(p.memory.parameters == 2.0 * static_cast<double>(parameter_count(s.model)));
  CHECK(p.memory.optimizer == 2 * p.memory.parameters);
}

TEST_CASE("strong scaling shares micro-steps out first, then sequences, and only evenly") {
  Scenario base = toy_scenario(1);
  base.training.batch = 8;
  base.training.accumulation = 4;
  const auto shared = [&](std::int64_t gpus) { return strong_scaling_of(base, gpus); };
  REQUIRE(shared(2));
  CHECK(shared(2)->training.accumulation == 2);
  CHECK(shared(2)->training.batch == 8);
  REQUIRE(shared(16));
  CHECK(shared(16)->training.accumulation == 1);
  CHECK(shared(16)->training.batch == 2);
  CHECK_FALSE(shared(3));
  CHECK_FALSE(shared(64));
  base.cluster.gpus = 2;
  CHECK_FALSE(strong_scaling_of(base, 3));
}

TEST_CASE("a scenario predicted twice is predicted the same") {
  const Prediction a = predict(toy_scenario(8), toy_gpu());
  const Prediction b = predict(toy_scenario(8), toy_gpu());
  CHECK(a.step.value == b.step.value);
  CHECK(a.exposed_s == b.exposed_s);
  CHECK(predict_step(toy_scenario(8), toy_gpu()).value == a.step.value);
}
