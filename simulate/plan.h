// Which way of sharing a model out to a set of machines trains it fastest, cheapest, in time: every
// candidate of a space is either simulated or ruled out by a bound that is proven
// (simulate/step_bounds.h), so the best one found is the best one there is.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"
#include "model/scenario.h"
#include "simulate/money.h"
#include "simulate/study.h"

namespace stepsight {

// What is searched. An empty list stands for every value that makes sense for the model, the batch
// and the number of GPUs.
struct PlanSpace {
  // Everything that a candidate does not say, for each combination of other keys that the search is
  // to try (cards, links, precision, ...). training.global_batch must be set.
  std::vector<Scenario> bases;
  std::vector<std::int64_t> gpus;  // at least one
  std::vector<std::int64_t> tensor, context, expert, pipeline, chunks, micro_batch;
  std::vector<Strategy> strategies;
  std::vector<PipelineSchedule> schedules;
  std::vector<Recompute> recompute;
  std::vector<bool> sequence;
};

inline constexpr std::size_t most_candidates = 20'000'000;

struct PlanCandidate {
  std::uint32_t base = 0;
  std::int32_t gpus = 1, tensor = 1, context = 1, expert = 1, pipeline = 1, chunks = 1,
               micro_batch = 1;
  Strategy strategy = Strategy::ddp;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  Recompute recompute = Recompute::none;
  bool sequence = false;
};

// In a fixed order. UserError when there are more than most_candidates.
std::vector<PlanCandidate> candidates_of(const PlanSpace& space);
Scenario scenario_of(const PlanSpace& space, const PlanCandidate& candidate);

// What became of a candidate.
enum class Fate : std::uint8_t {
  impossible,  // a rule of model/scenario_rules.h
  states,      // its states alone are larger than the card
  memory,      // it does not fit
  limits,  // no step is short enough for the limits: the machines draw too much, or its bound is
           // too late or too dear
  bound,   // no step within its bound is shorter than the best one on the same machines
  simulated,
};
inline constexpr std::array<std::string_view, 6> fate_names{
    "impossible", "states", "memory", "limits", "bound", "simulated"};

struct Judged {
  Fate fate = Fate::impossible;
  float bytes = 0;     // needed, where known
  double least_s = 0;  // bound of the step, where known
  double step_s = 0;   // simulated
};

// The best candidate on one set of machines: the same cards, link, number and global batch.
struct GroupBest {
  std::size_t candidate = 0;
  double step_s = 0;
  double samples_per_s = 0;
  std::optional<Money> money;
  bool within_limits = true;
  bool on_front = false;  // no other set of machines is both faster and cheaper
};

struct PlanResult {
  std::vector<PlanCandidate> candidates;
  std::vector<Judged> judged;           // of each candidate
  std::array<std::size_t, 6> counts{};  // by fate
  std::string first_violation;          // of the impossible ones
  std::vector<GroupBest> groups;        // those that have a plan, in the order of the space
  std::optional<std::size_t> fastest, cheapest;  // groups, within the limits
};

struct PlanOptions {
  unsigned threads = 1;
  bool exhaustive = false;  // simulate all that fits, whatever the bounds say
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;  // may be empty
};

PlanResult plan(const PlanSpace& space, const ProfileOf& profile_of, const PlanOptions& options);

// Why no other value of a key is in the best plan: its best candidate that agrees with `chosen` in
// nothing else but the machines.
struct Loser {
  std::string_view key;
  std::string value;
  Judged judged;
  std::size_t candidate = 0;
};
std::vector<Loser> losers_of(const PlanSpace& space,
                             const PlanResult& result,
                             const GroupBest& chosen);

}  // namespace stepsight
