// An update without fused kernels waits for the GPU: its issue is never hidden.
#include "model/cost.h"
#include "model/transformer.h"
#include "simulate/predict.h"
#include "tests/catch2.h"
#include "tests/model/toy_gpu.h"

using namespace stepsight;

namespace {

// Wide enough that the GPU, not the host, sets the pace.
Scenario wide_encoder() {
  Scenario s;
  s.model.family = Family::bert;
  s.model.layers = 4;
  s.model.hidden = 1024;
  s.model.heads = s.model.kv_heads = 16;
  s.model.head_dim = 64;
  s.model.ffn = 4096;
  s.model.vocab = 30522;
  s.model.positions = 512;
  s.model.token_types = 2;
  s.model.tied_head = s.model.bias = s.model.pooler = true;
  s.training.batch = 64;
  s.training.seq = 384;
  s.training.flash_attention = false;
  s.training.precision.compute = Dtype::fp32;
  s.cluster.gpu = "toy";
  return s;
}

double update_s(const Scenario& s, const GpuProfile& gpu) {
  double sum = 0;
  for (const Operator& op : step_work(s.model, s.training).optimizer) {
    sum += cost(op.work, gpu).time.value;
  }
  return sum;
}

}  // namespace

TEST_CASE("a step grows by an unfused update's kernels and by all of its issue") {
  const GpuProfile gpu = toy_gpu();
  Scenario fused = wide_encoder();
  Scenario loop = fused;
  loop.training.fused_optimizer = false;
  const StepWork work = step_work(loop.model, loop.training);
  const double issue = static_cast<double>(work.tensors) * work.optimizer_launches *
                       gpu.host.optimizer_tensor_us * 1e-6;
  const double kernels = update_s(loop, gpu) - update_s(fused, gpu);
  const double grown = predict_step(loop, gpu).value - predict_step(fused, gpu).value;
  CHECK(issue > 0.005);
  CHECK(grown == Approx(kernels + issue).epsilon(0.05));
}
