// A step asked again with some of its inputs a little off: how much each of them matters.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "model/profile.h"
#include "model/scenario.h"
#include "simulate/step_costs.h"
#include "simulate/step_links.h"
#include "simulate/step_time.h"

namespace stepsight {

// What a prediction is made of. Within one of these errors are taken to be common: a card whose
// products are slower than thought is so at every shape.
enum class StepInput : std::uint8_t {
  products,
  attention,
  convolutions,
  memory,
  host,
  link_latency,
  link_bandwidth,
  overlap,
  copies,
  power,
  host_memory,
};
inline constexpr std::array<std::string_view, 11> step_input_names{
    "matrix products",
    "attention",
    "convolutions",
    "memory-bound passes",
    "host issue",
    "link latency",
    "link bandwidth",
    "compute slowed by communication",
    "host copies",
    "power limit",
    "the host's update"};
inline constexpr std::size_t step_input_count = step_input_names.size();
constexpr std::size_t index(StepInput input) { return static_cast<std::size_t>(input); }

// Of the time (of rates while both run, for overlap; of the energy, for power) that an input stands
// for: its natural logarithm's change. All 0: the prediction itself.
using InputChanges = std::array<double, step_input_count>;

class PerturbedStep {
 public:
  // Both must outlive this. UserError for a link that is not known.
  PerturbedStep(const Scenario& scenario, const GpuProfile& gpu);

  [[nodiscard]] StepTime step(const InputChanges& changes = {});
  // Whether the step uses the input at all.
  [[nodiscard]] bool uses(StepInput input) const;
  [[nodiscard]] const StepLinks& links() const { return links_; }

 private:
  const Scenario& scenario_;
  GpuProfile gpu_;  // without what pricing has been done with: product's points, collectives
  StepWork work_;
  StepCosts costs_;
  StepLinks links_;
  bool loopback_ = false, collective_ = false, convolves_ = false, attends_ = false;
};

}  // namespace stepsight
