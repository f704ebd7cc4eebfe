#include "simulate/plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

#include "model/scenario_rules.h"
#include "simulate/ordered_workers.h"
#include "simulate/quick_predict.h"
#include "simulate/step_bounds.h"

namespace stepsight {

namespace {

constexpr double day = 86400;
// Simulated at a time before the best is looked at again: the same for any number of threads, so
// that the same candidates are simulated.
constexpr std::size_t round_size = 64;

// Predictors that threads take and give back; what they priced stays.
class PredictorPool {
 public:
  using Set = std::map<const GpuProfile*, std::unique_ptr<QuickPredictor>>;

  std::shared_ptr<Set> take() {
    const std::scoped_lock lock(mutex_);
    auto set = std::make_unique<Set>();
    if (!free_.empty()) {
      set = std::move(free_.back());
      free_.pop_back();
    }
    return {set.release(), [this](Set* used) {
              const std::scoped_lock give(mutex_);
              free_.emplace_back(used);
            }};
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Set>> free_;
};

QuickPredictor& predictor_of(PredictorPool::Set& set, const GpuProfile& gpu) {
  std::unique_ptr<QuickPredictor>& known = set[&gpu];
  if (!known) known = std::make_unique<QuickPredictor>(gpu);
  return *known;
}

// The same cards, wired alike, with the same work: what plans are compared on.
struct Machines {
  std::string gpu, link, topo;
  std::int64_t gpus = 0, nodes = 0, global_batch = 0, seq = 0;

  friend bool operator==(const Machines&, const Machines&) = default;
};

Machines machines_of(const PlanSpace& space, const PlanCandidate& candidate) {
  const Scenario s = scenario_of(space, candidate);
  // One GPU has no link, whatever its base says.
  return {s.cluster.gpu,
          space.bases[candidate.base].cluster.link,
          s.cluster.topo,
          s.cluster.gpus,
          s.cluster.nodes,
          s.training.global_batch,
          s.training.seq};
}

class Search {
 public:
  Search(const PlanSpace& space, const ProfileOf& profile_of, const PlanOptions& options)
      : space_(space), options_(options) {
    for (const Scenario& base : space.bases) {
      gpus_.push_back(&profile_of(base.cluster.gpu));
      Scenario one = base;
      one.training.batch = 1;
      one.parallel = {};
      one.cluster.gpus = one.cluster.nodes = 1;
      parameters_.push_back(parameter_count(base.model));
      flops_.push_back(step_work(one.model, one.training).model_flops.value);
    }
  }

  PlanResult search() {
    result_.candidates = candidates_of(space_);
    result_.judged.resize(result_.candidates.size());
    bound_all();
    for (auto& [key, members] : groups()) best_of(members);
    for (const Judged& j : result_.judged) ++result_.counts[static_cast<std::size_t>(j.fate)];
    compare_groups();
    return std::move(result_);
  }

 private:
  void each(std::size_t count,
            std::size_t chunk,
            const std::function<void(std::size_t, PredictorPool::Set&)>& work,
            bool show) {
    OrderedWork all;
    all.end = count;
    all.chunk = chunk;
    all.threads = options_.threads;
    all.make_worker = [&]() -> ItemsToText {
      return [&, set = pool_.take()](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) work(i, *set);
        return std::string();
      };
    };
    all.take = [&](const std::string&, std::uint64_t done) {
      if (show && options_.progress) options_.progress(done, count);
    };
    run_in_order(all);
  }

  // Rules, memory, limits and the bound of every candidate.
  void bound_all() {
    each(
        result_.candidates.size(),
        256,
        [&](std::size_t i, PredictorPool::Set& set) { bound_one(i, set); },
        true);
    for (std::size_t i = 0; i < result_.judged.size(); ++i) {
      if (result_.judged[i].fate != Fate::impossible) continue;
      result_.first_violation =
          violations(scenario_of(space_, result_.candidates[i])).front().message;
      break;
    }
  }

  void bound_one(std::size_t i, PredictorPool::Set& set) {
    Judged& out = result_.judged[i];
    const PlanCandidate& c = result_.candidates[i];
    const Scenario s = scenario_of(space_, c);
    if (!violations(s).empty()) return;
    const GpuProfile& gpu = *gpus_[c.base];
    const double states = least_memory(s, parameters_[c.base]);
    out.bytes = static_cast<float>(states);
    if (states > gpu.memory_bytes) {
      out.fate = Fate::states;
      return;
    }
    const double flops = flops_[c.base] * static_cast<double>(s.training.global_batch);
    out.least_s = least_step(flops, s, gpu).value;
    if (!within_limits(s, gpu, out.least_s)) {
      out.fate = Fate::limits;
      return;
    }
    const QuickPredictor::Bound bound = predictor_of(set, gpu).bound(s);
    out.bytes = static_cast<float>(bound.needed_bytes);
    if (!bound.fits) {
      out.fate = Fate::memory;
      return;
    }
    out.least_s = std::max(out.least_s, bound.least.value);
    out.fate = within_limits(s, gpu, out.least_s) ? Fate::bound : Fate::limits;
  }

  // Of a step that takes `step` seconds.
  static bool within_limits(const Scenario& s, const GpuProfile& gpu, double step) {
    const PlanLimits& l = s.limits;
    if (!l.deadline_days && !l.budget && !l.power_limit_kW) return true;
    const std::optional<Money> money = money_of(s, gpu, {step, step, step});
    if (!money) return true;
    if (l.power_limit_kW && money->power_kW && *money->power_kW > *l.power_limit_kW) return false;
    if (l.deadline_days && money->run_s && money->run_s->value > *l.deadline_days * day)
      return false;
    const Spending* spent = money->cheaper();
    return !(l.budget && spent != nullptr && spent->per_run && spent->per_run->value > *l.budget);
  }

  // Candidates that fit, by their machines and work, in the order of the space.
  std::vector<std::pair<Machines, std::vector<std::size_t>>> groups() const {
    std::vector<std::pair<Machines, std::vector<std::size_t>>> out;
    std::map<std::pair<std::uint32_t, std::int32_t>, std::size_t> known;  // base and GPUs -> group
    for (std::size_t i = 0; i < result_.candidates.size(); ++i) {
      if (result_.judged[i].fate != Fate::bound) continue;
      const PlanCandidate& c = result_.candidates[i];
      const auto [place, is_new] = known.try_emplace({c.base, c.gpus}, out.size());
      if (is_new) {
        const Machines machines = machines_of(space_, c);
        const auto same =
            std::ranges::find_if(out, [&](const auto& g) { return g.first == machines; });
        place->second = static_cast<std::size_t>(same - out.begin());
        if (same == out.end()) out.emplace_back(machines, std::vector<std::size_t>());
      }
      out[place->second].second.push_back(i);
    }
    return out;
  }

  // Simulates in the order of the bounds until no bound is below the best step.
  void best_of(std::vector<std::size_t>& members) {
    std::ranges::stable_sort(members, {}, [&](std::size_t i) { return result_.judged[i].least_s; });
    std::optional<std::size_t> best;
    for (std::size_t begin = 0; begin < members.size(); begin += round_size) {
      const std::size_t end = std::min(members.size(), begin + round_size);
      std::size_t live = begin;
      while (live < end && (options_.exhaustive || !best ||
                            result_.judged[members[live]].least_s < result_.judged[*best].step_s)) {
        ++live;
      }
      each(
          live - begin,
          4,
          [&](std::size_t i, PredictorPool::Set& set) { simulate(members[begin + i], set); },
          false);
      for (std::size_t i = begin; i < live; ++i) {
        const std::size_t at = members[i];
        const auto better = [&](const Judged& a, const Judged& b) { return a.step_s < b.step_s; };
        const bool tied = best && result_.judged[at].step_s == result_.judged[*best].step_s;
        if (!best || better(result_.judged[at], result_.judged[*best]) || (tied && at < *best))
          best = at;
      }
      if (live < end) break;
    }
    if (best) add_group(*best);
  }

  void simulate(std::size_t i, PredictorPool::Set& set) {
    const PlanCandidate& c = result_.candidates[i];
    Judged& out = result_.judged[i];
    out.step_s = predictor_of(set, *gpus_[c.base]).predict(scenario_of(space_, c)).step.value;
    out.fate = Fate::simulated;
  }

  void add_group(std::size_t candidate) {
    const PlanCandidate& c = result_.candidates[candidate];
    const Scenario s = scenario_of(space_, c);
    const double step = result_.judged[candidate].step_s;
    GroupBest group{candidate, step, samples_of_step(s) / step, {}, true, false};
    group.money = money_of(s, *gpus_[c.base], {step, step, step});
    group.within_limits = within_limits(s, *gpus_[c.base], step);
    result_.groups.push_back(std::move(group));
  }

  static double cost_of(const GroupBest& g) {
    const Spending* spent = g.money ? g.money->cheaper() : nullptr;
    return spent == nullptr ? 0 : spent->per_million.value;
  }

  void compare_groups() {
    std::vector<GroupBest>& all = result_.groups;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto beats = [&](const GroupBest& other) {
        const bool no_worse =
            other.samples_per_s >= all[i].samples_per_s && cost_of(other) <= cost_of(all[i]);
        const bool better =
            other.samples_per_s > all[i].samples_per_s || cost_of(other) < cost_of(all[i]);
        return no_worse && better;
      };
      all[i].on_front = std::ranges::none_of(all, beats);
      if (!all[i].within_limits) continue;
      if (!result_.fastest || all[i].samples_per_s > all[*result_.fastest].samples_per_s) {
        result_.fastest = i;
      }
      const bool priced = all[i].money && all[i].money->cheaper() != nullptr;
      if (priced && (!result_.cheapest || cost_of(all[i]) < cost_of(all[*result_.cheapest]))) {
        result_.cheapest = i;
      }
    }
  }

  const PlanSpace& space_;
  const PlanOptions& options_;
  std::vector<const GpuProfile*> gpus_;   // of each base
  std::vector<std::int64_t> parameters_;  // likewise
  std::vector<double> flops_;             // of one sequence
  PredictorPool pool_;
  PlanResult result_;
};

std::string word(std::string_view text) {
  return std::string(text);
}

struct SearchedKey {
  std::string_view name;
  std::string (*value)(const PlanCandidate&);
};
constexpr std::array<SearchedKey, 10> searched_keys{{
    {"strategy",
     [](const PlanCandidate& c) {
       return word(strategy_names[static_cast<std::size_t>(c.strategy)]);
     }},
    {"tensor", [](const PlanCandidate& c) { return std::to_string(c.tensor); }},
    {"context", [](const PlanCandidate& c) { return std::to_string(c.context); }},
    {"expert", [](const PlanCandidate& c) { return std::to_string(c.expert); }},
    {"pipeline", [](const PlanCandidate& c) { return std::to_string(c.pipeline); }},
    {"schedule",
     [](const PlanCandidate& c) {
       return c.pipeline == 1 ? word("none")
                              : word(schedule_names[static_cast<std::size_t>(c.schedule)]);
     }},
    {"chunks", [](const PlanCandidate& c) { return std::to_string(c.chunks); }},
    {"batch", [](const PlanCandidate& c) { return std::to_string(c.micro_batch); }},
    {"recompute",
     [](const PlanCandidate& c) {
       return word(recompute_names[static_cast<std::size_t>(c.recompute)]);
     }},
    {"sequence", [](const PlanCandidate& c) { return word(c.sequence ? "true" : "false"); }},
}};

// Which of two losers says more: a simulated one, then a bound, then what did not fit by least.
bool nearer(const Judged& a, const Judged& b) {
  if (a.fate != b.fate) return a.fate > b.fate;
  switch (a.fate) {
    case Fate::simulated:
      return a.step_s < b.step_s;
    case Fate::bound:
    case Fate::limits:
      return a.least_s < b.least_s;
    case Fate::memory:
    case Fate::states:
      return a.bytes < b.bytes;
    case Fate::impossible:
      break;
  }
  return false;
}

}  // namespace

PlanResult plan(const PlanSpace& space, const ProfileOf& profile_of, const PlanOptions& options) {
  return Search(space, profile_of, options).search();
}

std::vector<Loser> losers_of(const PlanSpace& space,
                             const PlanResult& result,
                             const GroupBest& chosen) {
  const PlanCandidate& best = result.candidates[chosen.candidate];
  // Whether a base's machines are the chosen ones'.
  std::vector<char> is_same(space.bases.size());
  const Machines machines = machines_of(space, best);
  for (std::uint32_t b = 0; b < space.bases.size(); ++b) {
    PlanCandidate on_base = best;
    on_base.base = b;
    is_same[b] = machines_of(space, on_base) == machines ? 1 : 0;
  }
  std::vector<Loser> out;
  for (const SearchedKey& key : searched_keys) {
    const std::string own = key.value(best);
    const std::size_t first = out.size();
    for (std::size_t i = 0; i < result.candidates.size(); ++i) {
      const PlanCandidate& c = result.candidates[i];
      if (c.gpus != best.gpus || is_same[c.base] == 0) continue;
      std::string value = key.value(c);
      if (value == own) continue;
      const auto known = std::find_if(out.begin() + static_cast<std::ptrdiff_t>(first),
                                      out.end(),
                                      [&](const Loser& l) { return l.value == value; });
      if (known == out.end()) {
        out.push_back({key.name, std::move(value), result.judged[i], i});
      } else if (nearer(result.judged[i], known->judged)) {
        known->judged = result.judged[i];
        known->candidate = i;
      }
    }
  }
  return out;
}

}  // namespace stepsight
