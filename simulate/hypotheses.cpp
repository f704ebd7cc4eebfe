#include "simulate/hypotheses.h"

#include <algorithm>
#include <cmath>

#include "model/errors.h"
#include "model/parallel_layout.h"
#include "model/scenario_rules.h"
#include "simulate/link.h"
#include "simulate/link_faults.h"
#include "simulate/study.h"

namespace stepsight {

namespace {

// Of a class value's 90 % interval (model/link_class.h).
Quantiles by_class(double seconds) {
  const double spread = std::exp(1.645 * link_class_spread);
  return {seconds / spread, seconds, seconds * spread};
}

// What a figure of a person's own is off by: timers and samples, not models.
Quantiles measured_factor(const Quantiles& step, double factor) {
  constexpr double off = 0.07;
  return {(1 - off) * factor * step.p5, factor * step.p50, (1 + off) * factor * step.p95};
}

double distance(const Hypothesis& h, double measured) {
  return std::abs(std::log(h.step.p50 / measured));
}

class Collector {
 public:
  Collector(const DiagnoseQuestion& question, const Expectation& expected)
      : question_(question), expected_(expected) {}

  void add(
      Cause cause, std::string name, std::string action, const Quantiles& step, bool supported) {
    if (!(step.p50 > 0) || !std::isfinite(step.p50)) return;
    Hypothesis h{cause, std::move(name), std::move(action), step, 0, false, supported};
    const double gap = question_.n - expected_.step().p50;
    h.explains = gap > 0 ? (step.p50 - expected_.step().p50) / gap : 0;
    h.fits = question_.n >= step.p5 && question_.n <= step.p95;
    out_.push_back(std::move(h));
  }

  // A scenario that cannot be (its rules, a link without that collective) is no hypothesis.
  void add_scenario(
      Cause cause, std::string name, std::string action, const Scenario& s, bool supported) {
    if (!violations(s).empty()) return;
    try {
      add(cause, std::move(name), std::move(action), expected_.step_of(s), supported);
    } catch (const UserError&) {
    }
  }

  std::vector<Hypothesis> take() {
    std::ranges::stable_sort(out_, [&](const Hypothesis& a, const Hypothesis& b) {
      const int rank_a = (a.fits ? 0 : 2) + (a.supported ? 0 : 1);
      const int rank_b = (b.fits ? 0 : 2) + (b.supported ? 0 : 1);
      if (rank_a != rank_b) return rank_a < rank_b;
      // A loader without evidence is a bound, not a simulation: it fits almost anything.
      const bool guess_a = a.cause == Cause::loader && !a.supported;
      const bool guess_b = b.cause == Cause::loader && !b.supported;
      if (guess_a != guess_b) return guess_b;
      return distance(a, question_.n) < distance(b, question_.n);
    });
    return std::move(out_);
  }

 private:
  const DiagnoseQuestion& question_;
  const Expectation& expected_;
  std::vector<Hypothesis> out_;
};

bool log_says(const Evidence& e, LinkFaultKind kind) {
  switch (kind) {
    case LinkFaultKind::host_memory:
      return e.host_memory;
    case LinkFaultKind::sockets:
      return e.sockets;
    case LinkFaultKind::no_gpudirect:
      return e.no_gpudirect;
    default:
      return false;
  }
}

void add_links(Collector& out, const Evidence& evidence, const Expectation& expected) {
  for (const LinkFault& fault : link_faults(expected.scenario().cluster)) {
    Scenario s = with_link(expected.scenario(), fault);
    const bool supported = log_says(evidence, fault.kind);
    out.add_scenario(Cause::link, fault.name, fault.action, s, supported);
    // Copies through host memory keep multiprocessors busy, and may hide nothing (GPT-2 on two
    // TITAN RTX, huggingface/transformers 9371).
    if (fault.kind != LinkFaultKind::host_memory || !s.parallel.overlap) continue;
    s.parallel.overlap = false;
    out.add_scenario(
        Cause::link, "through host memory, and nothing hides", fault.action, s, supported);
  }
}

void add_framework(Collector& out, const DiagnoseQuestion& question, const Expectation& expected) {
  const Scenario& scenario = expected.scenario();
  if (scenario.training.accumulation > 1 && !scenario.parallel.sync_each_micro_step) {
    Scenario s = scenario;
    s.parallel.sync_each_micro_step = true;
    out.add_scenario(
        Cause::framework,
        "gradients travel after each micro-step",
        "wrap all micro-steps but the last in no_sync() (FSDP2: set_requires_gradient_sync(False))",
        s,
        false);
  }
  if (scenario.parallel.overlap && scenario.parallel.strategy == Strategy::ddp) {
    Scenario s = scenario;
    s.parallel.overlap = false;
    out.add_scenario(
        Cause::framework,
        "communication begins only after backward",
        "look for find_unused_parameters, composable.replicate under torch.compile, or an own "
        "all-reduce after backward; DDP overlaps by itself",
        s,
        false);
  }
  const double usual = static_cast<double>(gradient_bytes(scenario.training));
  if (usual < 4) {
    Scenario s = scenario;
    s.training.gradient_dtype = Dtype::fp32;
    out.add_scenario(Cause::framework,
                     "gradients travel in fp32",
                     "keep gradients in bf16, or add DDP's bf16_compress_hook",
                     s,
                     false);
  }
  if (scenario.cluster.nodes == 1 && scenario.parallel.strategy == Strategy::ddp) {
    const bool one_works = question.evidence.utilisation &&
                           question.evidence.utilisation->shape == UtilisationShape::one_low;
    out.add(Cause::framework,
            "DataParallel: one process drives all GPUs",
            "start one process a GPU: torchrun --nproc-per-node, DistributedDataParallel",
            expected.data_parallel_step(),
            question.evidence.data_parallel || one_works);
  }
}

void add_loader(Collector& out, const DiagnoseQuestion& question, const Expectation& expected) {
  const Evidence& e = question.evidence;
  const std::string action =
      "train on one batch kept in memory, or print data_time: if the gap goes, more workers, "
      "decoded or "
      "cached data, faster storage";
  if (e.data_n) {
    const double more = *e.data_n - e.data_one.value_or(0);
    if (more > 0) {
      const Quantiles& s = expected.step();
      out.add(Cause::loader,
              "waiting for the data loader, as measured",
              action,
              {s.p5 + more, s.p50 + more, s.p95 + more},
              more > 0.1 * question.n);
    }
    return;
  }
  if (!question.one || question.same_work) return;
  // A loader that feeds N cards no faster than one: at most the time of their steps one after the
  // other.
  const double most = *question.one * static_cast<double>(question.gpus);
  const Quantiles& s = expected.step();
  if (most <= s.p95) return;
  const bool dips = e.utilisation && e.utilisation->shape == UtilisationShape::dips;
  const double likely = std::clamp(question.n, s.p50, most);
  out.add(Cause::loader,
          "loader feeds all cards no faster than one",
          action,
          {s.p50, likely, most},
          dips);
}

void add_ranks(Collector& out, const DiagnoseQuestion& question, const Expectation& expected) {
  const Evidence& e = question.evidence;
  const Quantiles& s = expected.step();
  const bool clock = e.utilisation && e.utilisation->slow_clock;
  if (!e.rank_spread && !clock) return;
  const double factor = e.rank_spread ? *e.rank_spread : 1 / e.utilisation->slow_clock_factor;
  out.add(
      Cause::rank,
      "one card is slower, and all wait for it",
      "`nvidia-smi -q -d PERFORMANCE,CLOCK,TEMPERATURE` on every card: thermal or power slow-down?",
      measured_factor(s, factor),
      true);
}

void add_stalls(Collector& out, const DiagnoseQuestion& question, const Expectation& expected) {
  const auto share = question.evidence.stall_share;
  if (!share || *share < 0.02 || *share >= 1) return;
  out.add(Cause::stall,
          "checkpoints or evaluation stop all cards",
          "save and evaluate less often or asynchronously; compare steady steps",
          scaled(expected.step(), 1 / (1 - *share)),
          true);
}

// The same figures read in another way.
void add_readings(Collector& out, const DiagnoseQuestion& question, const Expectation& expected) {
  if (!question.one || question.same_work) return;
  const auto shared = strong_scaling_of(on_one_gpu(expected.scenario(), false), question.gpus);
  if (!shared) return;
  Scenario s = expected.scenario();
  s.training = shared->training;
  out.add_scenario(
      Cause::measurement,
      "the batch is that of all cards, not of each",
      "compare samples a second, not steps: say --same-work if N cards share one card's batch",
      s,
      false);
}

}  // namespace

Expectation::Expectation(const DiagnoseQuestion& question,
                         const GpuProfile& gpu,
                         const ModelError& error)
    : gpu_(gpu), error_(error), scenario_(*question.scenario) {
  same_work_ = question.same_work;
  gpus_ = question.gpus;
  base_ = on_one_gpu(scenario_, false);
  // One card's step of the same work has the batch of all, as people measure it.
  if (same_work_) base_.training.batch *= data_parallel(scenario_);
  prediction_ = predict(scenario_, gpu);
  base_prediction_ = predict(base_, gpu);
  one_ = uncertainty_of(base_, gpu, base_prediction_, error);
  measured_one_ = question.one.value_or(0);
  if (question.one) factor_ = *question.one / base_prediction_.step.value;
  step_ = step_of(scenario_);
}

double Expectation::scaled_step(const Prediction& p) const {
  const double computed = p.step.value - p.exposed_s;
  const double hidden = std::max(0.0, p.communication_s - p.exposed_s);
  double exposed = p.exposed_s;
  if (factor_ > 1) {
    // The last bucket has nothing to hide behind.
    const double tail = p.buckets > 0 ? p.communication_s / p.buckets : p.communication_s;
    exposed = std::max(std::min(exposed, tail), exposed - (factor_ - 1) * hidden);
  } else {
    exposed += (1 - factor_) * hidden;
  }
  return factor_ * computed + exposed;
}

Quantiles Expectation::step_of(const Scenario& scenario) const {
  const Prediction p = &scenario == &scenario_ ? prediction_ : predict(scenario, gpu_);
  const Uncertainty u = uncertainty_of(scenario, gpu_, p, error_);
  if (measured_one_ == 0) return u.step;
  const double step = scaled_step(p);
  return scaled(ratio_interval(step / measured_one_, u, one_, error_), measured_one_);
}

Quantiles Expectation::data_parallel_step() const {
  const double alone = factor_ * prediction_.attribution.alone;
  const double others = static_cast<double>(gpus_ - 1);
  const double bytes = static_cast<double>(parameter_count(scenario_.model)) *
                       static_cast<double>(gradient_bytes(scenario_.training));
  // From one card to one other: a gather of both halves moves half of its message.
  CollectiveGroup pair{CollectiveKind::all_gather, 2, 1};
  const Link link = resolve_collective(gpu_, scenario_.cluster, pair);
  const double copy = link.kind == Link::Kind::collective
                          ? message_time(link, gpu_, Bytes{2 * bytes}).time.value
                          : 0;
  const double micro = static_cast<double>(scenario_.training.accumulation);
  const double issue =
      std::max(0.0, factor_ * prediction_.host_s * static_cast<double>(gpus_) - alone);
  return by_class(alone + issue + 2 * others * copy * micro);
}

Quantiles Expectation::speedup() const {
  const double work = same_work_ ? 1 : static_cast<double>(gpus_);
  const double one = measured_one_ > 0 ? measured_one_ : base_prediction_.step.value;
  return rate_of(step_, work * one);
}

std::vector<Hypothesis> hypotheses(const DiagnoseQuestion& question, const Expectation& expected) {
  Collector out(question, expected);
  add_links(out, question.evidence, expected);
  add_framework(out, question, expected);
  add_loader(out, question, expected);
  add_ranks(out, question, expected);
  add_stalls(out, question, expected);
  add_readings(out, question, expected);
  if (question.evidence.communication) {
    const double computed = expected.step().p50 - expected.prediction().exposed_s;
    out.add(Cause::link,
            "communication, as measured",
            "compare the link with nccl-tests: `stepsight show link NAME --against all_reduce.log`",
            measured_factor(expected.step(),
                            (computed + *question.evidence.communication) / expected.step().p50),
            true);
  }
  return out.take();
}

}  // namespace stepsight
