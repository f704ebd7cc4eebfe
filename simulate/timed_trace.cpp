#include "simulate/timed_trace.h"

#include <algorithm>

#include "model/cost.h"
#include "model/errors.h"
#include "simulate/irregular_step.h"
#include "simulate/predict.h"

namespace stepsight {

namespace {

WorkKind work_kind(const TracedKernel& k) {
  if (k.part == StepPart::optimizer) return WorkKind::optimizer;
  if (k.kind == KernelKind::product) return WorkKind::gemm;
  return k.kind == KernelKind::attention ? WorkKind::attention : WorkKind::memory;
}

Phase phase_of(StepPart part) {
  switch (part) {
    case StepPart::forward:
      return Phase::forward;
    case StepPart::backward:
      return Phase::backward;
    case StepPart::optimizer:
      return Phase::optimizer;
  }
  return Phase::forward;
}

class Pricer {
 public:
  Pricer(const TracedParts& parts, const Without& without)
      : step_(parts.step),
        costs_(parts.costs),
        scenario_(parts.scenario),
        gpu_(parts.gpu),
        links_(parts.links),
        without_(without),
        slowest_(slowest_of(parts.scenario.irregular, parts.scenario.cluster.gpus)) {}
  TimedTrace price();

 private:
  [[nodiscard]] double share_of(double seconds, double ranks) const;
  void time_kernels();
  void time_gradients();
  void time_buckets();
  void time_units();
  TimedUnit timed_unit(double elements, double gathers);
  Timed message(const Link& link, double bytes, std::string_view text, double times, double us);
  Timed copy(double elements, std::string_view text, double times);

  const TracedStep& step_;
  const TracedCosts& costs_;
  const Scenario& scenario_;
  const GpuProfile& gpu_;
  const TracedLinks& links_;
  const Without& without_;
  double slowest_;  // the step is the slowest rank's; what is booked is an undisturbed one's
  TimedTrace out_;
};

// A rank's part of an update: the kernel's start stays.
double Pricer::share_of(double seconds, double ranks) const {
  const auto& p = gpu_.pass[static_cast<std::size_t>(PassKind::copy)];
  const double start = std::min(seconds, p.overhead_us * 1e-6);
  return start + (seconds - start) / ranks;
}

void Pricer::time_kernels() {
  const double gap = gpu_.launch.stream_gap_us * 1e-6;
  out_.kernels.reserve(step_.kernels.size());
  for (std::size_t i = 0; i < step_.kernels.size(); ++i) {
    const TracedKernel& k = step_.kernels[i];
    double alone = costs_.kernel_seconds[i];
    if (out_.sharded && i >= step_.backward_end) {
      alone = share_of(alone, static_cast<double>(scenario_.cluster.gpus));
    }
    const double seconds = alone > 0 ? alone + gap : 0;
    const double slowed = seconds * slowest_;
    const double issue = k.issue_seconds * costs_.issue_scale[static_cast<std::size_t>(k.part)];
    const WorkKind kind = work_kind(k);
    out_.kernels.push_back({to_picoseconds(Seconds{slowed}),
                            to_picoseconds(Seconds{issue}),
                            out_.label(name_of(kind), phase_of(k.part), kind),
                            kind == WorkKind::gemm || kind == WorkKind::attention});
    out_.kernel_seconds[static_cast<std::size_t>(kind)] += seconds;
    out_.host_seconds += issue;
  }
  const double tail =
      step_.tail_seconds * costs_.issue_scale[static_cast<std::size_t>(StepPart::optimizer)];
  out_.tail = to_picoseconds(Seconds{tail});
  out_.host_seconds += tail;
  out_.unmeasured_seconds += costs_.unmeasured_seconds;
  out_.join_label = out_.label("end of backward", Phase::gradient_sync, WorkKind::sync_copy);
  out_.tail_label = out_.label("step", Phase::optimizer, WorkKind::optimizer);
}

void Pricer::time_gradients() {
  const double gap = gpu_.launch.stream_gap_us * 1e-6;
  const std::uint32_t name =
      out_.label("copy into bucket", Phase::gradient_sync, WorkKind::sync_copy);
  const double issue = gpu_.host.bucket_tensor_us * 1e-6;
  for (const TracedGradient& g : step_.gradients) {
    const Cost c = cost(Pass{PassKind::copy, 1, g.elements, step_.gradient_dtype}, gpu_);
    const double seconds = c.time.value + gap;
    out_.copies.push_back(
        {to_picoseconds(Seconds{seconds * slowest_}), to_picoseconds(Seconds{issue}), name});
    out_.kernel_seconds[static_cast<std::size_t>(WorkKind::sync_copy)] += seconds;
    out_.host_seconds += issue;
    if (!c.measured) out_.unmeasured_seconds += c.time.value;
  }
}

void Pricer::time_buckets() {
  const Dtype dtype = scenario_.training.gradient_dtype.value_or(step_.gradient_dtype);
  std::vector<double> sizes;
  for (const TracedGradient& g : step_.gradients) {
    sizes.push_back(static_cast<double>(g.elements) * info(dtype).bytes);
  }
  constexpr double mebibyte = 1024.0 * 1024.0;
  out_.buckets = gradient_buckets(
      sizes,
      {scenario_.parallel.first_bucket_MB * mebibyte, scenario_.parallel.bucket_cap_MB * mebibyte});
  const std::uint32_t name = out_.label("bucket", Phase::gradient_sync, WorkKind::communication);
  const double issue = gpu_.host.collective_us * 1e-6;
  for (const Bucket& bucket : out_.buckets) {
    const LinkCost c = message_time(links_.gradients, gpu_, Bytes{bucket.bytes});
    const Seconds time = without_.communication ? Seconds{0} : c.time;
    out_.bucket.push_back({to_picoseconds(time), to_picoseconds(Seconds{issue}), name});
    out_.kernel_seconds[static_cast<std::size_t>(WorkKind::communication)] += time.value;
    out_.host_seconds += issue;
    if (!c.measured) out_.unmeasured_seconds += time.value;
    out_.message_bytes += bucket.bytes;
  }
}

Timed Pricer::message(
    const Link& link, double bytes, std::string_view text, double times, double us) {
  const LinkCost c = message_time(link, gpu_, Bytes{bytes});
  const Seconds time = without_.communication ? Seconds{0} : c.time;
  out_.kernel_seconds[static_cast<std::size_t>(WorkKind::communication)] += times * time.value;
  out_.host_seconds += times * us * 1e-6;
  if (!c.measured) out_.unmeasured_seconds += times * time.value;
  out_.message_bytes += times * bytes;
  return {to_picoseconds(time),
          to_picoseconds(Seconds{us * 1e-6}),
          out_.label(text, Phase::gradient_sync, WorkKind::communication)};
}

// Issued with its message, whose issue counts both.
Timed Pricer::copy(double elements, std::string_view text, double times) {
  const Pass pass{PassKind::copy,
                  1,
                  std::max<std::int64_t>(1, static_cast<std::int64_t>(elements)),
                  step_.gradient_dtype};
  const Cost c = cost(pass, gpu_);
  const double seconds = c.time.value + gpu_.launch.stream_gap_us * 1e-6;
  out_.kernel_seconds[static_cast<std::size_t>(WorkKind::sync_copy)] += times * seconds;
  if (!c.measured) out_.unmeasured_seconds += times * c.time.value;
  return {to_picoseconds(Seconds{seconds * slowest_}),
          0,
          out_.label(text, Phase::gradient_sync, WorkKind::sync_copy)};
}

TimedUnit Pricer::timed_unit(double elements, double gathers) {
  const Dtype held = step_.gradient_dtype;
  const Dtype reduced = scenario_.training.gradient_dtype.value_or(held);
  TimedUnit out;
  out.gather = message(links_.gather,
                       elements * info(held).bytes,
                       "gather parameters",
                       gathers,
                       gpu_.host.gather_unit_us);
  out.copy_out = copy(elements, "parameters from gathered", gathers);
  out.copy_in = copy(elements, "gradients to scatter", 1);
  out.scatter = message(links_.scatter,
                        elements * info(reduced).bytes,
                        "scatter gradients",
                        1,
                        gpu_.host.scatter_unit_us);
  return out;
}

void Pricer::time_units() {
  if (step_.micro_steps > 1) {
    throw UserError(step_.file + ": is a step of " + std::to_string(step_.micro_steps) +
                    " micro-steps; with FSDP a trace of a single one is needed");
  }
  out_.units = traced_units(step_, scenario_.parallel.unit_layers);
  // The root stays gathered from the first kernel to the last of backward.
  if (out_.units.root_elements > 0) {
    out_.root = timed_unit(static_cast<double>(out_.units.root_elements), 1);
  }
  const double gathers = scenario_.parallel.reshard_after_forward ? 2 : 1;
  for (const TracedUnit& u : out_.units.units) {
    out_.unit.push_back(timed_unit(static_cast<double>(u.elements), gathers));
  }
}

TimedTrace Pricer::price() {
  out_.replicated = links_.gradients.kind != Link::Kind::none && !without_.sync_copies;
  out_.sharded = links_.gather.kind != Link::Kind::none && !without_.sync_copies;
  time_kernels();
  if (out_.replicated) {
    time_gradients();
    time_buckets();
  }
  if (out_.sharded) time_units();
  return std::move(out_);
}

}  // namespace

TracedLinks resolve_traced_links(const GpuProfile& gpu, const Scenario& scenario) {
  const Strategy strategy = scenario.parallel.strategy;
  TracedLinks out;
  if (strategy == Strategy::ddp) {
    out.gradients = resolve_link(gpu, scenario.cluster);
  } else if (shards_parameters(strategy) && scenario.cluster.gpus > 1) {
    const auto of = [&](CollectiveKind kind) {
      return resolve_collective(
          gpu, scenario.cluster, {kind, scenario.cluster.gpus, scenario.cluster.nodes});
    };
    out.gather = of(CollectiveKind::all_gather);
    out.scatter = of(CollectiveKind::reduce_scatter);
  }
  return out;
}

TimedTrace time_trace(const TracedParts& parts, const Without& without) {
  return Pricer(parts, without).price();
}

}  // namespace stepsight
