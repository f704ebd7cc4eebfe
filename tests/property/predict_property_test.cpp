// What must hold for the prediction of any scenario on any card.
#include <algorithm>
#include <cmath>

#include <rapidcheck.h>

#include "simulate/predict.h"
#include "simulate/uncertainty.h"
#include "simulate/waterfall.h"
#include "tests/catch2.h"
#include "tests/model/toy_gpu.h"

namespace stepsight {
namespace {

int between(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}
bool coin() {
  return between(0, 1) == 1;
}

ModelShape any_model() {
  ModelShape s;
  s.family = static_cast<Family>(between(0, 2));
  s.layers = between(1, 6);
  s.kv_heads = between(1, 4);
  s.heads = s.kv_heads * between(1, 3);
  s.head_dim = 8 * between(1, 16);
  s.hidden = s.heads * s.head_dim;
  s.ffn = 64 * between(1, 60);
  s.vocab = between(100, 60000);
  s.bias = coin();
  s.qkv_bias = coin();
  s.fused_qkv = coin();
  s.gated_ffn = coin();
  s.fused_gate_up = coin();
  s.rms_norm = coin();
  s.rotary = coin();
  s.tied_head = coin();
  s.dropout = coin() ? 0.1 : 0;
  if (s.family == Family::bert) {
    s.mlm_head = coin();
    s.pooler = coin();
    s.token_types = 2;
    if (!s.mlm_head) s.tied_head = true;
  }
  if (coin()) s.positions = 512;
  return s;
}

Scenario any_scenario() {
  Scenario s;
  s.model = any_model();
  s.training.batch = between(1, 16);
  s.training.seq = 8 * between(1, 64);
  s.training.accumulation = between(1, 3);
  s.training.precision =
      precisions[static_cast<std::size_t>(between(0, static_cast<int>(precisions.size()) - 1))]
          .precision;
  if (coin()) s.training.gradient_dtype = Dtype::fp32;
  s.training.optimizer = static_cast<OptimizerKind>(between(0, 2));
  s.training.recompute = coin() ? Recompute::full : Recompute::none;
  s.training.compile = coin();
  s.training.flash_attention = coin();
  s.parallel.bucket_cap_MB = between(1, 100);
  s.parallel.overlap = coin();
  s.parallel.sync_each_micro_step = coin();
  s.cluster.gpus = std::int64_t{1} << between(0, 3);
  if (s.cluster.gpus > 1) s.cluster.link = "wire";
  if (s.cluster.gpus == 1 && coin()) s.cluster.link = "loopback:" + std::to_string(between(1, 4));
  return s;
}

GpuProfile any_gpu() {
  GpuProfile gpu = toy_gpu();
  for (const auto& field : HostParameters<double>::fields()) {
    gpu.host.*field.member = between(1, 300);
  }
  for (const auto& field : OverlapParameters<double>::fields()) {
    gpu.overlap.*field.member = between(60, 100) / 100.0;
  }
  for (CollectiveCurve& curve : gpu.collectives) {
    curve.parameters = {static_cast<double>(between(1, 100)),
                        static_cast<double>(between(0, 20)),
                        static_cast<double>(between(1, 500))};
  }
  return gpu;
}

}  // namespace

TEST_CASE("any scenario has a finite answer whose parts agree") {
  CHECK(rc::check([] {
    const Scenario s = any_scenario();
    RC_PRE(problems(s.model).empty());
    const GpuProfile gpu = any_gpu();
    const Prediction p = predict(s, gpu);
    RC_ASSERT(std::isfinite(p.step.value));
    RC_ASSERT(p.step.value > 0);
    RC_ASSERT(p.exposed_s >= 0);
    RC_ASSERT(p.exposed_s <= p.communication_s * (1 + 1e-9));
    RC_ASSERT(p.communication_s <= p.step.value * (1 + 1e-9));
    RC_ASSERT(p.gpu_busy_s <= p.step.value * (1 + 1e-9));
    // A step is at least the host's issue, where nothing waits for it (within the rounding of
    // thousands of tasks to picoseconds).
    RC_ASSERT(p.step.value >= p.host_s * (1 - 1e-6));
    const Attribution& a = p.attribution;
    RC_ASSERT(std::abs(a.alone + a.bucket_copies + a.slow_down + a.exposed - p.step.value) <
              1e-9 * p.step.value);
    RC_ASSERT(p.step.value == predict_step(s, gpu).value);
    RC_ASSERT(p.memory.fits == (p.memory.largest_batch >= s.training.batch));
  }));
}

TEST_CASE("any step's parts add up to the picosecond, and none is below nothing") {
  CHECK(rc::check([] {
    const Scenario s = any_scenario();
    RC_PRE(problems(s.model).empty());
    const GpuProfile gpu = any_gpu();
    const Prediction p = predict(s, gpu);
    const Attribution& a = p.attribution;
    for (const double part : {a.alone, a.bucket_copies, a.exposed, a.slow_down, a.bubble}) {
      RC_ASSERT(part >= 0);
    }
    const Waterfall here = waterfall_of(s, gpu, p);
    RC_ASSERT(here.step == to_picoseconds(p.step));
    Picoseconds sum = 0;
    for (const Picoseconds part : here.parts) {
      RC_ASSERT(part >= 0);
      sum += part;
    }
    RC_ASSERT(sum == here.step);
    // One card to many, and one link to another.
    Scenario other = s;
    other.cluster.gpus = 1;
    other.cluster.link.clear();
    const Waterfall there = waterfall_of(other, gpu, predict(other, gpu));
    const StepDifference d = difference(there, here);
    Picoseconds change = 0;
    for (std::size_t i = 0; i < step_cause_count; ++i) {
      RC_ASSERT(d.more[i] >= 0);
      RC_ASSERT(d.less[i] >= 0);
      RC_ASSERT(d.more[i] == 0 || d.less[i] == 0);
      change += d.more[i] - d.less[i];
    }
    RC_ASSERT(there.step + change == here.step);
  }));
}

TEST_CASE("any prediction lies inside its interval, and a wider error never narrows it") {
  CHECK(rc::check([] {
    const Scenario s = any_scenario();
    RC_PRE(problems(s.model).empty());
    const GpuProfile gpu = any_gpu();
    const Prediction p = predict(s, gpu);
    const Uncertainty u = uncertainty_of(s, gpu, p, ModelError{});
    RC_ASSERT(std::isfinite(u.log_sd));
    RC_ASSERT(u.step.p5 > 0);
    RC_ASSERT(u.step.p5 <= u.step.p50);
    RC_ASSERT(u.step.p50 <= u.step.p95);
    RC_ASSERT(u.step.p50 == p.step.value);
    for (const double e : u.elasticities) RC_ASSERT(e >= 0 && e < 3);
    double shares = 0;
    for (const Contribution& c : u.contributions) shares += c.share;
    RC_ASSERT(u.contributions.empty() || std::abs(shares - 1) < 1e-6);
    ModelError wider;
    for (double& sd : wider.sd) sd += 0.1;
    RC_ASSERT(uncertainty_of(s, gpu, p, wider).log_sd >= u.log_sd);
  }));
}

TEST_CASE("any plan's memory grows with the batch, and more of it never makes a plan unfit") {
  CHECK(rc::check([] {
    Scenario s = any_scenario();
    RC_PRE(problems(s.model).empty());
    s.parallel.strategy = static_cast<Strategy>(between(0, 5));
    if (s.cluster.gpus > 1 && s.parallel.strategy == Strategy::none) s.cluster.gpus = 1;
    s.parallel.prefetch = between(0, 2);
    s.parallel.reshard_after_forward = coin();
    GpuProfile gpu = toy_gpu();
    gpu.memory_bytes = between(1, 40) * 1e9;
    const auto memory = [&] { return memory_of(step_work(s), s, gpu, s.cluster.gpus > 1); };
    const Memory m = memory();
    RC_ASSERT(std::isfinite(m.needed));
    RC_ASSERT(std::abs(m.at_peak.sum() - m.peak) <= 1e-9 * m.peak);
    RC_ASSERT(m.fits == (m.largest_batch >= s.training.batch));
    for (const MemoryPart& part : memory_parts) RC_ASSERT((m.at_peak.*part.bytes) >= 0);
    for (const Remedy& r : m.remedies) RC_ASSERT(r.needed < m.needed);
    gpu.memory_bytes *= 1 + between(1, 100) / 50.0;
    const Memory roomy = memory();
    RC_ASSERT(roomy.needed == m.needed);
    RC_ASSERT(roomy.fits >= m.fits);
    RC_ASSERT(roomy.largest_batch >= m.largest_batch);
    s.training.batch += between(1, 8);
    RC_ASSERT(memory().needed >= m.needed);
    RC_ASSERT(memory().largest_batch == roomy.largest_batch);
  }));
}

TEST_CASE("gradients of any model are complete, and each travels once") {
  CHECK(rc::check([] {
    Scenario s = any_scenario();
    RC_PRE(problems(s.model).empty());
    const StepWork work = step_work(s.model, s.training);
    RC_ASSERT(work.parameters == parameter_count(s.model));
    RC_ASSERT(work.tensors == static_cast<std::int64_t>(parameter_tensors(s.model).size()));
    const Prediction p = predict(s, any_gpu());
    const double syncs =
        s.parallel.sync_each_micro_step ? static_cast<double>(s.training.accumulation) : 1.0;
    const double expected =
        s.cluster.link.empty()
            ? 0
            : syncs * gradient_bytes(s.training) * static_cast<double>(parameter_count(s.model));
    RC_ASSERT(std::abs(p.message_bytes - expected) <= 1e-9 * expected);
  }));
}

TEST_CASE("where nothing slows anything, a faster link or a smaller batch is never slower") {
  CHECK(rc::check([] {
    Scenario s = any_scenario();
    RC_PRE(problems(s.model).empty());
    GpuProfile gpu = any_gpu();
    gpu.overlap = {1, 1, 1, 1, 1, 1};
    const double step = predict_step(s, gpu).value;
    GpuProfile faster = gpu;
    const double factor = 1 + between(0, 300) / 100.0;
    for (CollectiveCurve& curve : faster.collectives) {
      curve.parameters.busbw_GBps *= factor;
      curve.parameters.latency_us /= factor;
      curve.parameters.ramp_us /= factor;
    }
    faster.host_to_device.bandwidth_GBps *= factor;
    faster.device_to_host.bandwidth_GBps *= factor;
    RC_ASSERT(predict_step(s, faster).value <= step * (1 + 1e-9));
  }));
}

}  // namespace stepsight
