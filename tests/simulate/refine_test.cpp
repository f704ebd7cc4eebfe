#include "simulate/refine.h"

#include <cmath>

#include "model/io/link_file.h"
#include "model/io/model_file.h"
#include "model/io/profile_file.h"
#include "simulate/predict.h"
#include "simulate/refined_machine.h"
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
std::vector<MeasuredStep> measured(const std::vector<Scenario>& scenarios,
                                   const InputChanges& truth) {
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
  const auto steps = measured({scenario(1, 1, 128),
                               scenario(1, 1, 256),
                               scenario(2, 1, 128),
                               scenario(32, 1),
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
  const auto steps = measured(
      {scenario(4, 2), scenario(4, 4), scenario(8, 4), scenario(16, 1), scenario(16, 2)}, truth);
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

TEST_CASE("a refined machine's files predict what the refinement does, and what its steps took") {
  InputChanges truth{};
  truth[index(StepInput::host)] = 0.25;
  truth[index(StepInput::products)] = 0.06;
  truth[index(StepInput::memory)] = -0.05;
  truth[index(StepInput::link_latency)] = 0.3;
  truth[index(StepInput::link_bandwidth)] = std::log(1.7);
  const auto steps = measured({scenario(1, 1, 128),
                               scenario(2, 1, 128),
                               scenario(16, 1),
                               scenario(32, 1),
                               scenario(4, 2),
                               scenario(4, 4),
                               scenario(8, 4),
                               scenario(16, 2)},
                              truth);
  const Refinement r = refine(steps, card());
  REQUIRE(change_of(r, StepInput::link_bandwidth) > 0.2);
  const GpuProfile gpu =
      read_profile_text("mine.toml", profile_text(refined_profile(card(), r, steps)));
  // The points lie over formulas that moved.
  GpuProfile with_points = refined_profile(card(), r, steps);
  REQUIRE(gpu.host.forward_us == with_points.host.forward_us);

  const std::vector<RefinedLink> links = refined_links(card(), r, steps);
  REQUIRE(links.size() == 1);
  CHECK(links.front().was == "pcie4-x16-nop2p");
  auto facts = std::make_shared<LinkFacts>();
  facts->name = "mine-link";
  facts->measured = read_measured_link_text(
      "mine-link.toml", measured_link_text(links.front().link, links.front().records));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Scenario s = steps[i].scenario;
    if (s.cluster.gpus > 1) {
      s.cluster.link = "./mine-link.toml";
      s.cluster.facts = facts;
    }
    CAPTURE(steps[i].id, s.cluster.gpus);
    // Six digits are written of a link's parameters.
    CHECK(predict_step(s, with_points).value == Approx(r.steps[i].after).epsilon(1e-5));
    CHECK(predict_step(s, with_points).value == Approx(steps[i].seconds).epsilon(0.05));
  }
  // A number of GPUs that no step ran on takes over what the others make of the class.
  Scenario eight = scenario(4, 8);
  const double by_class = predict_step(eight, with_points).value;
  eight.cluster.link = "./mine-link.toml";
  eight.cluster.facts = facts;
  CHECK(predict_step(eight, with_points).value > 1.1 * by_class);
}

TEST_CASE("a refined link of a profile's own curves stays in the profile") {
  GpuProfile gpu = card();
  gpu.collectives = {
      {"pcie4-x16-nop2p", CollectiveKind::all_reduce, 2, {30, 5, 12}, MeasuredCurve{}, "a test"}};
  for (const auto& field : CollectiveParameters<double>::fields()) {
    gpu.records.push_back(
        {"collective.pcie4-x16-nop2p.all_reduce.2." + std::string(field.info.name),
         gpu.collectives.front().parameters.*field.member,
         0.1,
         5,
         "a test"});
  }
  InputChanges truth{};
  truth[index(StepInput::link_bandwidth)] = std::log(2.0);
  std::vector<MeasuredStep> steps;
  for (const std::int64_t batch : {2, 4, 8}) {
    Scenario s = scenario(batch, 2);
    PerturbedStep step(s, gpu);
    steps.push_back({"run", s, step.step(truth).step.value});
  }
  const Refinement r = refine(steps, gpu);
  CHECK(refined_links(gpu, r, steps).empty());
  const GpuProfile refined =
      read_profile_text("mine.toml", profile_text(refined_profile(gpu, r, steps)));
  REQUIRE(refined.collectives.size() == 1);
  const double factor = std::exp(change_of(r, StepInput::link_bandwidth));
  CHECK(factor > 1.02);
  CHECK(refined.collectives.front().parameters.busbw_GBps == Approx(12 / factor));
  CHECK_THAT(refined.collectives.front().source,
             match::ContainsSubstring("refined by 3 measured runs"));
}
