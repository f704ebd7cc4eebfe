#include "simulate/refine.h"

#include <cmath>

#include "model/io/link_file.h"
#include "model/io/model_file.h"
#include "model/io/profile_file.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

const GpuProfile& card() {
  static const GpuProfile gpu = read_profile("a100-sxm-80");
  return gpu;
}

Scenario scenario(std::int64_t batch, std::int64_t gpus, std::int64_t seq = 1024) {
  Scenario s;
  s.model = read_model("gpt2-124m");
  s.training.batch = batch;
  s.training.seq = seq;
  s.cluster.gpu = "a100-sxm-80";
  s.cluster.gpus = gpus;
  if (gpus > 1) {
    s.cluster.link = "pcie4-x16-nop2p";
    s.cluster.facts = find_link(s.cluster.link, "");
  }
  return s;
}

// Steps of a machine whose inputs are off by `truth`.
std::vector<MeasuredStep> measured(const std::vector<Scenario>& scenarios, const InputChanges& truth) {
  std::vector<MeasuredStep> out;
  for (const Scenario& s : scenarios) {
    PerturbedStep step(s, card());
    out.push_back({"run" + std::to_string(out.size()), s, step.step(truth).step.value});
  }
  return out;
}

double change_of(const Refinement& r, StepInput input) {
  return r.changes()[index(input)];
}

}  // namespace

TEST_CASE("a host that is a third slower is found from runs that it limits") {
  InputChanges truth{};
  truth[index(StepInput::host)] = 0.3;
  const auto steps = measured({scenario(1, 1, 128), scenario(1, 1, 256), scenario(2, 1, 128), scenario(32, 1),
                               scenario(16, 1)},
                              truth);
  const Refinement r = refine(steps, card());
  CHECK(change_of(r, StepInput::host) == Approx(0.3).margin(0.06));
  CHECK(std::abs(change_of(r, StepInput::products)) < 0.05);
  CHECK(r.error_left_out < 0.3 * r.error_before);
}

TEST_CASE("a link at half its rate is found from runs that wait for it") {
  InputChanges truth{};
  truth[index(StepInput::link_bandwidth)] = std::log(2.0);
  const auto steps = measured({scenario(4, 2), scenario(4, 4), scenario(8, 4), scenario(16, 1), scenario(16, 2)}, truth);
  const Refinement r = refine(steps, card());
  CHECK(change_of(r, StepInput::link_bandwidth) == Approx(std::log(2.0)).margin(0.2));
  CHECK(r.error_left_out < 0.5 * r.error_before);
  for (const RefinedInput& i : r.inputs) CHECK(i.sd_after <= i.sd_before * (1 + 1e-9));
}

TEST_CASE("where the runs are silent the prior stays") {
  // One GPU says nothing of a link, and steps that the GPU fills nothing of the host.
  InputChanges truth{};
  const Refinement r = refine(measured({scenario(32, 1), scenario(16, 1)}, truth), card());
  for (const RefinedInput& i : r.inputs) {
    CHECK(i.input != StepInput::link_bandwidth);
    CHECK(std::abs(i.change) < 1e-3);
    if (i.input == StepInput::host) CHECK(i.sd_after == Approx(i.sd_before).epsilon(0.02));
  }
  CHECK(r.error_before == Approx(0).margin(1e-9));
}
