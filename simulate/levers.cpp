#include "simulate/levers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "model/errors.h"
#include "model/link_class.h"
#include "model/link_curve.h"
#include "model/parallel_layout.h"
#include "model/scenario_rules.h"

namespace stepsight {

namespace {

constexpr double least_gain = 0.005;

double samples_of(const Scenario& s) {
  return static_cast<double>(data_parallel(s) * s.training.accumulation * s.training.batch);
}

// The cluster by its link's class alone. The name is none that the profile may know.
Cluster wired(const Cluster& now, const LinkClass& link) {
  Cluster out = now;
  out.link += "*";
  out.topo.clear();
  out.facts = std::make_shared<const LinkFacts>(LinkFacts{out.link, std::nullopt, link});
  return out;
}

std::optional<LinkClass> class_of(const Cluster& cluster) {
  const auto& facts = cluster.facts;
  if (facts && facts->link_class) return facts->link_class;
  if (facts && facts->measured) return facts->measured->link_class;
  return parse_link_class(cluster.link);
}

struct Candidate {
  LeverKind kind{};
  std::vector<std::string> values;
  std::string key;
  bool same_training = true;
  Scenario scenario;
};

class Finder {
 public:
  Finder(const Scenario& now, const Prediction& prediction, const LeverScope& scope)
      : now_(now), prediction_(prediction), scope_(scope) {}

  std::vector<Candidate> candidates() {
    if (scope_.whole_training) training();
    disturbances();
    if (talks()) {
      exchange();
      link();
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool talks() const { return prediction_.communication_s > 0; }

  Scenario& add(LeverKind kind,
                std::vector<std::string> values,
                std::string key,
                bool same_training = true) {
    out_.push_back({kind, std::move(values), std::move(key), same_training, now_});
    return out_.back().scenario;
  }

  void training() {
    const Training& t = now_.training;
    const std::int64_t largest = prediction_.memory.largest_batch;
    if (t.global_batch == 0) {
      for (std::int64_t batch = 2 * t.batch; batch <= std::min(largest, 4 * t.batch); batch *= 2) {
        add(LeverKind::bigger_batch,
            {std::to_string(batch), std::to_string(t.batch)},
            "batch = " + std::to_string(batch),
            false)
            .training.batch = batch;
      }
      if (talks()) {
        const std::int64_t more = 4 * t.accumulation;
        add(LeverKind::accumulate,
            {std::to_string(more), std::to_string(t.accumulation)},
            "accumulation = " + std::to_string(more),
            false)
            .training.accumulation = more;
      }
    }
    if (!t.compile && !t.fused_kernels) {
      add(LeverKind::compile, {}, "compile = true").training.compile = true;
    }
    if (!t.flash_attention) {
      add(LeverKind::flash_attention, {}, "flash_attention = true").training.flash_attention = true;
    }
    if (!t.fused_optimizer) {
      add(LeverKind::fused_optimizer, {}, "fused_optimizer = true").training.fused_optimizer = true;
    }
    if (t.recompute != Recompute::none) {
      Scenario& s = add(LeverKind::less_recompute, {}, "recompute = \"none\"");
      s.training.recompute = Recompute::none;
      s.training.recompute_layers = 0;
    }
  }

  // What the scenario says disturbs its steps, taken away.
  void disturbances() {
    const Irregular& i = now_.irregular;
    if (now_.cluster.gpus > 1 && (i.slow_factor > 1 || i.batch_imbalance > 1)) {
      Scenario& s = add(LeverKind::equal_ranks, {}, "slow_factor = 1, batch_imbalance = 1");
      s.irregular.slow_factor = s.irregular.batch_imbalance = 1;
    }
    if (prediction_.attribution.loading > 0) {
      if (i.loader_workers > 0) {
        const std::string more = std::to_string(2 * i.loader_workers);
        add(LeverKind::faster_loader,
            {more, std::to_string(i.loader_workers)},
            "loader_workers = " + more)
            .irregular.loader_workers *= 2;
      }
      if (i.node_samples_per_s > 0) {
        add(LeverKind::faster_storage, {}, "").irregular.node_samples_per_s *= 2;
      }
    }
    if (i.stall_s > 0) {
      Scenario& s = add(LeverKind::no_stalls, {}, "stall_s = 0");
      s.irregular.stall_s = 0;
      s.irregular.stall_steps = 0;
    }
  }

  void exchange() {
    const Parallel& p = now_.parallel;
    if (p.sync_each_micro_step && now_.training.accumulation > 1) {
      add(LeverKind::no_sync, {}, "sync_each_micro_step = false").parallel.sync_each_micro_step =
          false;
    }
    if (!p.overlap) {
      add(LeverKind::overlap, {}, "overlap = true").parallel.overlap = true;
    }
    if (p.strategy == Strategy::ddp && p.overlap) {
      for (const std::int64_t cap : {5, 10, 50, 100, 200}) {
        const std::string size = std::to_string(cap);
        add(LeverKind::bucket_size, {size}, "bucket_cap_MB = " + size).parallel.bucket_cap_MB =
            static_cast<double>(cap);
      }
    }
    if (!now_.training.gradient_dtype && scope_.narrow_gradients) {
      add(LeverKind::narrow_gradients, {}, "gradient_dtype = \"bf16\"", false)
          .training.gradient_dtype = Dtype::bf16;
    }
    for (const Strategy other : {Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::fsdp}) {
      if (other == p.strategy || p.strategy == Strategy::none) continue;
      const bool states_alone = other == Strategy::zero1 || other == Strategy::zero2;
      if (states_alone && !scope_.whole_training) continue;
      const std::string name(strategy_names[static_cast<std::size_t>(other)]);
      Scenario& s = add(LeverKind::other_strategy,
                        {name, std::string(strategy_names[static_cast<std::size_t>(p.strategy)])},
                        "strategy = \"" + name + "\"");
      s.parallel.strategy = other;
      s.parallel.shard_group = 0;
    }
  }

  void rewired(LeverKind kind, const LinkClass& link) {
    Scenario& s = add(kind, {}, "");
    s.cluster = wired(now_.cluster, link);
  }

  void link() {
    const std::optional<LinkClass> now = class_of(now_.cluster);
    if (!now || now->busbw_GBps > 0 || now->machine) return;
    if (now->nvlink_shape == NvlinkShape::none && now_.cluster.gpus > now_.cluster.nodes) {
      if (!now->peer_to_peer) {
        LinkClass link = *now;
        link.peer_to_peer = true;
        rewired(LeverKind::peer_to_peer, link);
      }
      if (now_.cluster.gpus == 2) {
        LinkClass link = *now;
        link.nvlink_shape = NvlinkShape::pairs;
        link.nvlink_generation = 3;
        rewired(LeverKind::nvlink_bridge, link);
      }
    }
    if (now_.cluster.nodes > 1 && now->fabric.nics > 0) {
      LinkClass link = *now;
      link.fabric.nics *= 2;
      rewired(LeverKind::more_adapters, link);
    }
  }

  const Scenario& now_;
  const Prediction& prediction_;
  LeverScope scope_;
  std::vector<Candidate> out_;
};

bool is_hardware(LeverKind kind) {
  return kind == LeverKind::peer_to_peer || kind == LeverKind::nvlink_bridge ||
         kind == LeverKind::more_adapters;
}

struct Base {
  Seconds step;
  Uncertainty uncertainty;
};

// The better of two of one kind stays.
void keep_best(std::vector<Lever>& found, Lever lever) {
  for (Lever& known : found) {
    if (known.kind != lever.kind) continue;
    if (lever.gain > known.gain) known = std::move(lever);
    return;
  }
  found.push_back(std::move(lever));
}

}  // namespace

std::string_view name_of(LeverKind kind) {
  constexpr std::array<std::string_view, 18> names{"larger batch",
                                                   "accumulation",
                                                   "no_sync",
                                                   "overlap",
                                                   "bucket size",
                                                   "narrow gradients",
                                                   "other strategy",
                                                   "compile",
                                                   "flash attention",
                                                   "fused optimizer",
                                                   "less recomputation",
                                                   "P2P",
                                                   "NVLink bridge",
                                                   "more network",
                                                   "equal ranks",
                                                   "faster loader",
                                                   "faster storage",
                                                   "no pauses"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<Lever> levers(const Scenario& scenario,
                          const GpuProfile& gpu,
                          const Prediction& now,
                          const ModelError& error) {
  const Training& t = scenario.training;
  const LeverScope scope{true, gradient_bytes(t) > 2 && t.precision.compute == Dtype::bf16};
  const LeverModel model{
      [&](const Scenario& s) {
        const Prediction p = predict(s, gpu);
        return LeverAnswer{p.step, p.memory.fits};
      },
      [&](const Scenario& s, Seconds step) { return uncertainty_of(s, gpu, step, error); }};
  return levers(scenario, now, scope, model, error);
}

std::vector<Lever> levers(const Scenario& scenario,
                          const Prediction& now,
                          const LeverScope& scope,
                          const LeverModel& model,
                          const ModelError& error) {
  const Base today{now.step, model.uncertainty(scenario, now.step)};
  std::optional<Base>
      by_class;  // today's link as a class: what was measured of it says nothing of others
  std::vector<Lever> out;
  for (Candidate& c : Finder(scenario, now, scope).candidates()) {
    // A traced step has no model that rules could be about.
    if (scope.whole_training && !violations(c.scenario).empty()) continue;
    const Base* base = &today;
    if (is_hardware(c.kind)) {
      if (!by_class) {
        Scenario same = scenario;
        same.cluster = wired(scenario.cluster, *class_of(scenario.cluster));
        const Seconds step = model.step(same).step;
        by_class = Base{step, model.uncertainty(same, step)};
      }
      base = &*by_class;
    }
    LeverAnswer after_it;
    try {
      after_it = model.step(c.scenario);
    } catch (const UserError&) {
      continue;  // the link is not known for the collectives that this change needs
    }
    const Seconds step = after_it.step;
    const double speedup =
        (samples_of(c.scenario) / step.value) / (samples_of(scenario) / base->step.value);
    if (speedup < 1 + least_gain || !after_it.fits) continue;
    const Uncertainty after = model.uncertainty(c.scenario, step);
    keep_best(out,
              {c.kind,
               std::move(c.values),
               std::move(c.key),
               c.same_training,
               std::move(c.scenario),
               step,
               speedup - 1,
               ratio_interval(speedup, base->uncertainty, after, error)});
  }
  std::ranges::stable_sort(out, std::greater{}, &Lever::gain);
  return out;
}

}  // namespace stepsight
