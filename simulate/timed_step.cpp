#include "simulate/timed_step.h"

#include <algorithm>
#include <optional>
#include <span>
#include <variant>

#include "model/cost.h"
#include "model/gradient_sum.h"
#include "model/host_issue.h"
#include "model/power.h"
#include "model/rounds.h"
#include "simulate/host_memory.h"
#include "simulate/irregular_step.h"
#include "simulate/price_cache.h"

namespace stepsight {

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

WorkKind kind_of(const Work& work) {
  if (std::holds_alternative<Gemm>(work)) return WorkKind::gemm;
  if (std::holds_alternative<Attention>(work)) return WorkKind::attention;
  if (std::holds_alternative<Convolution>(work)) return WorkKind::gemm;
  return WorkKind::memory;
}

// Every gradient tensor in the order in which backward completes them.
std::vector<GradientReady> ready_gradients(const StepWork& work) {
  std::vector<GradientReady> out;
  out.reserve(static_cast<std::size_t>(work.tensors));
  const auto append = [&](const StageWork& stage) {
    out.insert(out.end(), stage.ready.begin(), stage.ready.end());
  };
  append(work.head);
  for (std::int64_t i = 0; i < work.blocks; ++i) append(work.block);
  append(work.embedding);
  return out;
}

// A kernel or a message before it is booked so many times a step.
struct Priced {
  Timed timed;
  WorkKind kind = WorkKind::memory;
  double seconds = 0;
  double issue_us = 0;
  double unmeasured_s = 0;
};

// Two that run one after the other, as one.
Timed together(const Timed& first, const Timed& then) {
  Timed out = first.kernel + first.issue > 0 ? first : then;
  out.kernel = first.kernel + then.kernel;
  out.issue = first.issue + then.issue;
  out.bytes = first.bytes + then.bytes;
  out.rounds = 0;
  return out;
}

// Of batched products, attention's own ones leave no gradient complete.
bool forms_weight_gradient(const StageWork& stage, std::size_t product) {
  const auto* gemm = std::get_if<Gemm>(&stage.backward[product].work);
  if (gemm == nullptr || gemm->layout != Layout::NT) return false;
  return gemm->batch == 1 ||
         std::any_of(stage.ready.begin(), stage.ready.end(), [&](const auto& gradient) {
           return gradient.after == product;
         });
}

class Pricer {
 public:
  Pricer(const StepParts& parts, const Without& without)
      : work_(parts.work),
        costs_(parts.costs),
        scenario_(parts.scenario),
        gpu_(parts.gpu),
        links_(parts.links),
        cache_(parts.cache),
        without_(without),
        exchanges_(exchanges_gradients(parts) && !without.sync_copies),
        micro_steps_(static_cast<double>(parts.scenario.training.accumulation)),
        syncs_(parts.scenario.parallel.sync_each_micro_step ? micro_steps_ : 1) {}

  TimedStep price();

 private:
  [[nodiscard]] bool ddp() const { return scenario_.parallel.strategy == Strategy::ddp; }
  [[nodiscard]] Cost price_of(const Work& work) const {
    return cache_ != nullptr ? cache_->cost(work) : cost(work, gpu_);
  }
  [[nodiscard]] LinkCost price_of(const Link& link, double bytes) const {
    return cache_ != nullptr ? cache_->message(link, Bytes{bytes})
                             : message_time(link, gpu_, Bytes{bytes});
  }
  Timed kernel(const Operator& op, const Cost& cost, Phase phase, double repeats);
  Timed kernel(const Operator& op, const Cost& cost, Phase phase, double repeats, double issue_us);
  Priced priced(const Operator& op, const Cost& cost, Phase phase, double issue_us);
  Timed book(const Priced& one, double repeats);
  Timed book(const Priced& one, const Work& work, double repeats);
  Timed message(const Link& link,
                double bytes,
                std::string_view text,
                Phase phase,
                double repeats,
                double issue_us);
  Priced message_of(Seconds time,
                    double bytes,
                    std::string_view text,
                    Phase phase,
                    double issue_us,
                    double unmeasured_s);
  Priced priced_message(
      const Link& link, double bytes, std::string_view text, Phase phase, double issue_us);
  Timed copy(double elements, Dtype type, std::string_view text, double repeats);
  // Between the card and its host's memory.
  Timed host_copy(double bytes, bool to_host, std::string_view text, Phase phase, double repeats);
  [[nodiscard]] bool updates_on_host() const {
    return stepsight::updates_on_host(scenario_.parallel.offload);
  }
  void price_host_update();
  TimedStage stage(const StageWork& stage, const StageCosts& costs, double copies);
  // Gradients that are scattered in each micro-step are added up as shards.
  [[nodiscard]] bool whole_gradients() const {
    return !(exchanges_ && shards_gradients(scenario_.parallel.strategy) && syncs_ > 1);
  }
  // Megatron-LM's products add to the weights' gradients themselves (gradient accumulation fusion).
  [[nodiscard]] bool sums_in_products() const {
    const Training& t = scenario_.training;
    return t.fused_kernels && t.fused_accumulation && !t.precision.wide_sums && whole_gradients();
  }
  void exchanges(std::span<const Exchange> list,
                 Phase phase,
                 double copies,
                 std::vector<TimedExchange>& out);
  void price_buckets();
  void price_copies_back(std::span<const GradientReady> gradients);
  void price_units();
  // Parameters of the usual layers, and of experts that ranks share out.
  struct Elements {
    double usual = 0, experts = 0;
  };
  [[nodiscard]] static Elements elements_of(const StageWork& stage, double times) {
    const double experts = expert_elements(stage);
    return {times * (gradient_elements(stage) - experts), times * experts};
  }
  TimedUnit unit(Elements elements, double gathers, double copies);
  TimedUnit part_of_unit(double elements, bool experts, double gathers, double copies);
  [[nodiscard]] GradientGroup group_of(const GradientReady& gradient) const;
  void price_partial_gradients();
  void price_optimizer();
  void price_gather_updated();
  void book_energy(const Work& work, double repeats);
  void lower_clock();
  void wait_for_slowest();
  template <typename Change>
  void each_kernel(const Change& change);

  const StepWork& work_;
  const StepCosts& costs_;
  const Scenario& scenario_;
  const GpuProfile& gpu_;
  const StepLinks& links_;
  PriceCache* cache_;
  const Without& without_;
  bool exchanges_;
  double micro_steps_;
  double syncs_;  // times a step that gradients are exchanged

  TimedStep out_;
  StepEnergy energy_;
};

// Books an operator's kernel time `repeats` times a step.
Timed Pricer::kernel(const Operator& op, const Cost& c, Phase phase, double repeats) {
  const IssuePhase side = phase == Phase::forward ? IssuePhase::forward : IssuePhase::backward;
  return kernel(
      op, c, phase, repeats, gpu_.host.*issue_cost(op.work, side, scenario_.training.compile));
}

Timed Pricer::kernel(
    const Operator& op, const Cost& c, Phase phase, double repeats, double issue_us) {
  return book(priced(op, c, phase, issue_us), op.work, repeats);
}

Priced Pricer::priced(const Operator& op, const Cost& c, Phase phase, double issue_us) {
  const WorkKind kind = phase == Phase::gradient_sync ? WorkKind::sync_copy : kind_of(op.work);
  const Seconds time = c.time + Seconds{kernel_count(op.work) * gpu_.launch.stream_gap_us * 1e-6};
  return {{to_picoseconds(time),
           to_picoseconds(Seconds{issue_us * 1e-6}),
           out_.label(op.label, phase, kind),
           c.clocked,
           0,
           static_cast<float>(rounds_of(op.work, gpu_.multiprocessors))},
          kind,
          time.value,
          issue_us,
          c.measured ? 0 : c.time.value};
}

Timed Pricer::book(const Priced& one, double repeats) {
  out_.kernel_seconds[static_cast<std::size_t>(one.kind)] += repeats * one.seconds;
  out_.host_seconds += repeats * one.issue_us * 1e-6;
  out_.unmeasured_seconds += repeats * one.unmeasured_s;
  return one.timed;
}

Timed Pricer::book(const Priced& one, const Work& work, double repeats) {
  (one.timed.clocked ? energy_.clocked_s : energy_.other_s) += repeats * one.seconds;
  book_energy(work, repeats);
  return book(one, repeats);
}

// Books a message `repeats` times a step.
Timed Pricer::message(const Link& link,
                      double bytes,
                      std::string_view text,
                      Phase phase,
                      double repeats,
                      double issue_us) {
  return book(priced_message(link, bytes, text, phase, issue_us), repeats);
}

Priced Pricer::priced_message(
    const Link& link, double bytes, std::string_view text, Phase phase, double issue_us) {
  const LinkCost c = price_of(link, bytes);
  const Seconds time = without_.communication ? Seconds{0} : c.time;
  return message_of(time, bytes, text, phase, issue_us, c.measured ? 0 : time.value);
}

Priced Pricer::message_of(Seconds time,
                          double bytes,
                          std::string_view text,
                          Phase phase,
                          double issue_us,
                          double unmeasured_s) {
  return {{to_picoseconds(time),
           to_picoseconds(Seconds{issue_us * 1e-6}),
           out_.label(text, phase, WorkKind::communication),
           false,
           bytes},
          WorkKind::communication,
          time.value,
          issue_us,
          unmeasured_s};
}

// A copy between a buffer that travels and the tensors themselves; its issue is part of the
// message's.
Timed Pricer::copy(double elements, Dtype type, std::string_view text, double repeats) {
  if (elements < 1) return {};
  const Operator op{Pass{PassKind::copy, 1, static_cast<std::int64_t>(elements), type}, text};
  return kernel(op, price_of(op.work), Phase::gradient_sync, repeats, 0);
}

Timed Pricer::host_copy(
    double bytes, bool to_host, std::string_view text, Phase phase, double repeats) {
  const Seconds all = copy_formula(bytes, to_host ? gpu_.device_to_host : gpu_.host_to_device);
  const Seconds time = without_.communication ? Seconds{0} : all;
  return book(message_of(time, bytes, text, phase, gpu_.host.accumulate_us, 0), repeats);
}

// FLOP, counted in bf16's energy, and bytes of the step.
void Pricer::book_energy(const Work& work, double repeats) {
  if (const auto* gemm = std::get_if<Gemm>(&work)) {
    energy_.flop += repeats * flops(*gemm).value * energy_of_flop(gpu_, gemm->dtype);
    energy_.bytes += repeats * bytes(*gemm).value;
  } else if (const auto* attention = std::get_if<Attention>(&work)) {
    energy_.flop += repeats * flops(*attention).value * energy_of_flop(gpu_, attention->dtype);
  } else if (const auto* convolution = std::get_if<Convolution>(&work)) {
    energy_.flop += repeats * flops(*convolution).value * energy_of_flop(gpu_, convolution->dtype);
    energy_.bytes += repeats * bytes(*convolution).value;
  } else {
    energy_.bytes += repeats * bytes(std::get<Pass>(work)).value;
  }
}

// Calls change(kernel, times) for every kernel of the passes and the optimizer; it runs `times` a
// step.
template <typename Change>
void Pricer::each_kernel(const Change& change) {
  const auto kept = static_cast<double>(work_.kept_blocks);
  const auto blocks = static_cast<double>(work_.blocks) - kept;
  for (const auto& [stage, copies] : {std::pair{&out_.embedding, 1.0},
                                      {&out_.block, blocks},
                                      {&out_.kept_block, kept},
                                      {&out_.head, 1.0}}) {
    for (Timed& t : stage->forward) change(t, copies * micro_steps_);
    for (Timed& t : stage->backward) change(t, copies * micro_steps_);
  }
  change(out_.optimizer, 1);
}

// A step that would draw more than the card's limit runs at a lower clock; what instructions bound
// slows with it, what memory bounds does not.
void Pricer::lower_clock() {
  energy_.least_s = out_.host_seconds;
  out_.clock = clock_under_limit(energy_, gpu_);
  if (out_.clock >= 1) return;
  each_kernel([&](Timed& t, double times) {
    if (!t.clocked) return;
    const auto longer = static_cast<Picoseconds>(static_cast<double>(t.kernel) / out_.clock);
    out_.kernel_seconds[static_cast<std::size_t>(out_.labels[t.label].kind)] +=
        times * to_seconds(longer - t.kernel).value;
    t.kernel = longer;
  });
}

// The step is the slowest rank's: what the others wait for is its kernels. Kernel times that were
// booked stay those of an undisturbed rank.
void Pricer::wait_for_slowest() {
  if (!scenario_.irregular.unequal_ranks()) return;
  const double slowest = slowest_of(scenario_.irregular, scenario_.cluster.gpus);
  each_kernel([&](Timed& t, double) {
    t.kernel = static_cast<Picoseconds>(static_cast<double>(t.kernel) * slowest);
  });
}

void Pricer::exchanges(std::span<const Exchange> list,
                       Phase phase,
                       double copies,
                       std::vector<TimedExchange>& out) {
  for (const Exchange& e : list) {
    const Link& link = links_.of(e.axis, e.kind);
    if (link.kind == Link::Kind::none) continue;
    out.push_back(
        {message(link, e.bytes, e.label, phase, micro_steps_ * copies, gpu_.host.collective_us),
         e.before,
         e.beside,
         e.stops_host});
  }
}

// `copies` of the stage run one after the other in each micro-step.
TimedStage Pricer::stage(const StageWork& stage, const StageCosts& costs, double copies) {
  const Training& training = scenario_.training;
  TimedStage out;
  out.ready = stage.ready;
  out.forward.reserve(stage.forward.size());
  out.backward.reserve(stage.backward.size());
  for (std::size_t i = 0; i < stage.forward.size(); ++i) {
    out.forward.push_back(
        kernel(stage.forward[i], costs.forward[i], Phase::forward, micro_steps_ * copies));
  }
  for (std::size_t i = 0; i < stage.backward.size(); ++i) {
    const double times = micro_steps_ * copies;
    Cost time = costs.backward[i];
    if (sums_in_products() && forms_weight_gradient(stage, i)) {
      const auto& gemm = std::get<Gemm>(stage.backward[i].work);
      const double width = gradient_bytes(scenario_.training);
      time = cost_with_sum(time, gemm, width, gpu_);
      energy_.bytes += times * sum_traffic(gemm, width);
    }
    out.backward.push_back(kernel(stage.backward[i], time, Phase::backward, times));
  }
  exchanges(stage.forward_exchanges, Phase::forward, copies, out.forward_exchanges);
  exchanges(stage.backward_exchanges, Phase::backward, copies, out.backward_exchanges);
  if (scenario_.parallel.offload == Offload::activations && copies > 0) {
    const double times = micro_steps_ * copies;
    out.stash = host_copy(stage.saved_bytes, true, "activations to host", Phase::forward, times);
    out.restore =
        host_copy(stage.saved_bytes, false, "activations to card", Phase::backward, times);
  }
  const bool wide_sums = training.precision.wide_sums;
  const double adds =
      wide_sums ? micro_steps_ : micro_steps_ - 1;  // the first starts the usual sums
  for (std::size_t i = 0; i < stage.ready.size(); ++i) {
    if (adds > 0 && whole_gradients() && !sums_in_products()) {
      const Operator add{accumulate_pass(stage.ready[i], training.precision), "accumulate"};
      out.accumulate.push_back(kernel(
          add, costs.accumulate[i], Phase::backward, adds * copies, gpu_.host.accumulate_us));
    }
    const bool alone = !exchanges_ || (!shards_parameters(scenario_.parallel.strategy) &&
                                       group_of(stage.ready[i]) == GradientGroup::none);
    if (updates_on_host() && alone) {
      out.to_host.resize(stage.ready.size());
      out.to_host[i] =
          host_copy(static_cast<double>(stage.ready[i].elements) * gradient_bytes(training),
                    true,
                    "gradients to host",
                    Phase::gradient_sync,
                    copies);
    }
    if (exchanges_ && !shards_parameters(scenario_.parallel.strategy)) {
      if (group_of(stage.ready[i]) == GradientGroup::none) {
        out.copy.emplace_back();
        continue;
      }
      const Operator copy{bucket_copy_pass(stage.ready[i], training.precision), "copy into bucket"};
      out.copy.push_back(kernel(
          copy, costs.copy[i], Phase::gradient_sync, syncs_ * copies, gpu_.host.bucket_tensor_us));
    }
  }
  return out;
}

GradientGroup Pricer::group_of(const GradientReady& gradient) const {
  if (!gradient.experts) return GradientGroup::data;
  return axis_size(scenario_, Axis::expert_data) > 1 ? GradientGroup::experts : GradientGroup::none;
}

// What the buckets of one size cost.
struct BucketPrice {
  double bytes;
  GradientGroup group;
  double shard_bytes;
  Priced reduced;
  std::optional<Priced> replicated;  // between the replicas of a hybrid group
};

// DDP's all-reduced buckets, or those that ZeRO-1 and 2 scatter.
void Pricer::price_buckets() {
  const double width = gradient_bytes(scenario_.training);
  const std::vector<GradientReady> gradients = ready_gradients(work_);
  std::vector<double> sizes;
  sizes.reserve(gradients.size());
  out_.groups.reserve(gradients.size());
  for (const GradientReady& g : gradients) {
    sizes.push_back(static_cast<double>(g.elements) * width);
    out_.groups.push_back(group_of(g));
  }
  const Parallel& p = scenario_.parallel;
  out_.buckets = gradient_buckets(
      sizes, {p.first_bucket_MB * mebibyte, p.bucket_cap_MB * mebibyte}, out_.groups);
  const auto price = [&](const Bucket& bucket) {
    const auto message = [&](const Link& over, double bytes) {
      return priced_message(over, bytes, "bucket", Phase::gradient_sync, gpu_.host.collective_us);
    };
    const bool experts = bucket.group == GradientGroup::experts;
    const auto axis = [&](Axis usual) { return experts ? of_experts(usual) : usual; };
    const Link& link =
        !ddp()    ? links_.of(axis(Axis::shard), gradient_collective(scenario_.training.precision))
        : experts ? links_.of(Axis::expert_data, CollectiveKind::all_reduce)
                  : links_.gradients;
    const Link& between = links_.of(axis(Axis::replicate), CollectiveKind::all_reduce);
    const double shard =
        bucket.bytes / static_cast<double>(axis_size(scenario_, axis(Axis::shard)));
    BucketPrice out{bucket.bytes, bucket.group, shard, message(link, bucket.bytes), {}};
    if (between.kind != Link::Kind::none) out.replicated = message(between, shard);
    return out;
  };
  std::vector<BucketPrice> known;  // layers repeat: a model has few sizes of buckets
  const auto price_of_bucket = [&](const Bucket& bucket) -> const BucketPrice& {
    const auto is_same = [&](const BucketPrice& b) {
      return b.bytes == bucket.bytes && b.group == bucket.group;
    };
    const auto found = std::ranges::find_if(known, is_same);
    return found != known.end() ? *found : known.emplace_back(price(bucket));
  };
  out_.bucket.reserve(out_.buckets.size());
  for (const Bucket& bucket : out_.buckets) {
    const BucketPrice& priced = price_of_bucket(bucket);
    out_.bucket.push_back(book(priced.reduced, syncs_));
    out_.message_bytes += syncs_ * bucket.bytes;
    if (updates_on_host()) {
      out_.bucket_to_host.push_back(
          host_copy(priced.shard_bytes, true, "gradients to host", Phase::gradient_sync, syncs_));
    }
    if (priced.replicated) out_.bucket.back().kernel += book(*priced.replicated, syncs_).kernel;
  }
  if (ddp() && links_.gradients.kind == Link::Kind::collective) price_copies_back(gradients);
}

// DDP copies what came back into the gradients themselves once backward is done, unless they are
// views of the buckets (gradient_as_bucket_view, off by default). A communication hook such as the
// loop-back's hands its own result over instead: runs with one show no such copies.
void Pricer::price_copies_back(std::span<const GradientReady> gradients) {
  struct Known {
    std::int64_t elements;
    Work work;
    Priced priced;
  };
  std::vector<Known> known;  // a model has few sizes of tensors
  const auto copy_of = [&](const GradientReady& gradient) -> const Known& {
    const auto found = std::ranges::find(known, gradient.elements, &Known::elements);
    if (found != known.end()) return *found;
    const Operator op{bucket_copy_pass(gradient, scenario_.training.precision),
                      "copy back from bucket"};
    known.push_back({gradient.elements,
                     op.work,
                     priced(op, price_of(op.work), Phase::gradient_sync, gpu_.host.accumulate_us)});
    return known.back();
  };
  out_.copy_back.reserve(out_.buckets.size());
  for (const Bucket& bucket : out_.buckets) {
    Timed all;
    for (std::uint32_t i = bucket.first_tensor; i <= bucket.last_tensor; ++i) {
      if (out_.groups[i] != bucket.group) continue;
      const Known& copy = copy_of(gradients[i]);
      all = together(all, book(copy.priced, copy.work, syncs_));
    }
    out_.copy_back.push_back(all);
  }
}

// `copies` units, each gathered `gathers` times a step; experts by the ranks that hold the same
// ones.
TimedUnit Pricer::unit(Elements elements, double gathers, double copies) {
  TimedUnit out = part_of_unit(elements.usual, false, gathers, copies);
  if (elements.experts == 0) return out;
  const TimedUnit experts = part_of_unit(elements.experts, true, gathers, copies);
  for (Timed TimedUnit::*part : {&TimedUnit::before_gather,
                                 &TimedUnit::gather,
                                 &TimedUnit::copy_out,
                                 &TimedUnit::copy_in,
                                 &TimedUnit::scatter,
                                 &TimedUnit::after_scatter,
                                 &TimedUnit::replicate,
                                 &TimedUnit::fetch,
                                 &TimedUnit::drain}) {
    out.*part = together(out.*part, experts.*part);
  }
  return out;
}

TimedUnit Pricer::part_of_unit(double elements, bool experts, double gathers, double copies) {
  const Training& training = scenario_.training;
  const Dtype compute = training.precision.compute;
  const double width = info(compute).bytes;
  const double reduced = elements * gradient_bytes(training);
  const Axis shard = experts ? Axis::expert_shard : Axis::shard;
  const Axis replicate = experts ? Axis::expert_replicate : Axis::replicate;
  const auto shards = static_cast<double>(axis_size(scenario_, shard));
  const Link& gather = links_.of(shard, CollectiveKind::all_gather);
  const Link& scatter = links_.of(shard, CollectiveKind::reduce_scatter);
  const Link& between = links_.of(replicate, CollectiveKind::all_reduce);
  const double scatters = syncs_ * copies;
  TimedUnit out;
  out.gather = message(gather,
                       elements * width,
                       "gather parameters",
                       Phase::gradient_sync,
                       gathers * copies,
                       gpu_.host.gather_unit_us);
  out.scatter = message(scatter,
                        reduced,
                        "scatter gradients",
                        Phase::gradient_sync,
                        scatters,
                        gpu_.host.scatter_unit_us);
  // As torch's FSDP2 has it (_fsdp_collectives.py). Shards that are held wider than they travel are
  // cast and put side by side before; gradients that travel wider than they are computed are cast
  // into the buffer, and others that are held wider after. One rank alone copies in place of the
  // messages, and gathers nothing.
  const Dtype held = parameter_dtype(training.precision);
  if (scenario_.parallel.offload == Offload::parameters) {
    out.fetch = host_copy(elements / shards * info(held).bytes,
                          false,
                          "parameters to card",
                          Phase::gradient_sync,
                          gathers * copies);
  }
  if (updates_on_host()) {
    out.drain =
        host_copy(reduced / shards, true, "gradients to host", Phase::gradient_sync, scatters);
  }
  const bool reduced_wide = gradient_bytes(training) > width;
  const double own = elements / shards;
  const bool casts = held != compute;
  const auto cast = [&](PassKind kind, double count, std::string_view text, double times) -> Timed {
    if (!casts || count < 1) return {};
    const Operator op{Pass{kind, 1, static_cast<std::int64_t>(count), compute}, text};
    return kernel(op, price_of(op.work), Phase::gradient_sync, times, 0);
  };
  out.before_gather = copy(own, compute, "shards to gather", gathers * copies);
  out.before_gather = together(
      out.before_gather, cast(PassKind::cast_down, own, "shards to gather", gathers * copies));
  if (shards > 1)
    out.copy_out = copy(elements, compute, "parameters from gathered", gathers * copies);
  out.copy_in = casts && reduced_wide
                    ? cast(PassKind::cast_up, elements, "gradients to scatter", scatters)
                    : copy(elements, compute, "gradients to scatter", scatters);
  if (shards <= 1) out.after_scatter = copy(own, compute, "gradients scattered", scatters);
  if (!reduced_wide) {
    out.after_scatter =
        together(out.after_scatter, cast(PassKind::cast_up, own, "gradients scattered", scatters));
  }
  if (between.kind != Link::Kind::none) {
    out.replicate = message(between,
                            reduced / shards,
                            "replicas' gradients",
                            Phase::gradient_sync,
                            scatters,
                            gpu_.host.collective_us);
  }
  out_.message_bytes += copies * (gathers * elements * width + syncs_ * reduced);
  return out;
}

void Pricer::price_units() {
  const Parallel& p = scenario_.parallel;
  const std::int64_t whole = work_.blocks / p.unit_layers;
  const std::int64_t rest = work_.blocks % p.unit_layers;
  const double gathers = micro_steps_ * (p.reshard_after_forward ? 2 : 1);
  TimedUnits& units = out_.units;
  units.count = whole + (rest > 0 ? 1 : 0);
  // The root stays gathered from the first operator of forward to the last of backward.
  units.root = unit(
      {gradient_elements(work_.embedding) + gradient_elements(work_.head), 0}, micro_steps_, 1);
  units.block = unit(elements_of(work_.block, static_cast<double>(p.unit_layers)),
                     gathers,
                     static_cast<double>(whole));
  units.last = rest > 0 ? unit(elements_of(work_.block, static_cast<double>(rest)), gathers, 1)
                        : units.block;
}

void Pricer::price_partial_gradients() {
  const Link& link = links_.of(Axis::tensor, CollectiveKind::all_reduce);
  const double elements = partial_elements(work_);
  if (elements == 0 || link.kind == Link::Kind::none) return;
  out_.partial_gradients = message(link,
                                   elements * gradient_bytes(scenario_.training),
                                   "partial gradients",
                                   Phase::optimizer,
                                   1,
                                   gpu_.host.collective_us);
}

// Parameters that live on the card come back in the type that it computes in; ZeRO-1 and 2 gather
// them then.
void Pricer::price_host_update() {
  const Precision& precision = scenario_.training.precision;
  const double experts = expert_elements(work_);
  const double usual = static_cast<double>(work_.parameters) - experts;
  const double share = usual / static_cast<double>(axis_size(scenario_, Axis::shard)) +
                       experts / static_cast<double>(axis_size(scenario_, Axis::expert_shard));
  out_.host_update = {to_picoseconds(host_update_time(work_, gpu_, scenario_.cluster)),
                      0,
                      out_.label("update on the host", Phase::optimizer, WorkKind::optimizer)};
  if (scenario_.parallel.offload == Offload::parameters) return;
  out_.updated_to_card = host_copy(share * info(parameter_dtype(precision)).bytes,
                                   false,
                                   "updated parameters to card",
                                   Phase::optimizer,
                                   1);
}

void Pricer::price_optimizer() {
  if (updates_on_host()) {
    price_host_update();
    price_gather_updated();
    return;
  }
  Seconds update;
  bool clocked = false;
  for (const Cost& c : costs_.optimizer) {
    update += c.time;
    clocked = clocked || c.clocked;
    (c.clocked ? energy_.clocked_s : energy_.other_s) += c.time.value;
  }
  const bool sharded = exchanges_ && shards_parameters(scenario_.parallel.strategy);
  const double tensor_us = work_.optimizer_launches * gpu_.host.optimizer_tensor_us +
                           (sharded ? gpu_.host.sharded_tensor_us : 0);
  const Seconds issue{static_cast<double>(work_.tensors) * tensor_us * 1e-6};
  out_.optimizer = {to_picoseconds(update),
                    to_picoseconds(issue),
                    out_.label("optimizer", Phase::optimizer, WorkKind::optimizer),
                    clocked};
  out_.kernel_seconds[static_cast<std::size_t>(WorkKind::optimizer)] += update.value;
  out_.host_seconds += issue.value;
  for (const Operator& op : work_.optimizer) book_energy(op.work, 1);
  price_gather_updated();
}

void Pricer::price_gather_updated() {
  const Strategy strategy = scenario_.parallel.strategy;
  if (exchanges_ && shards_optimizer(strategy) && !shards_parameters(strategy)) {
    const double width = info(parameter_dtype(scenario_.training.precision)).bytes;
    const double experts = expert_elements(work_) * width;
    const double usual = static_cast<double>(work_.parameters) * width - experts;
    const auto gather = [&](Axis axis, double bytes) {
      out_.message_bytes += bytes;
      return message(links_.of(axis, CollectiveKind::all_gather),
                     bytes,
                     "gather updated parameters",
                     Phase::optimizer,
                     1,
                     gpu_.host.collective_us);
    };
    out_.gather_updated = gather(Axis::shard, usual);
    if (experts > 0 && axis_size(scenario_, Axis::expert_shard) > 1) {
      out_.gather_updated = together(out_.gather_updated, gather(Axis::expert_shard, experts));
    }
  }
}

TimedStep Pricer::price() {
  out_.embedding = stage(work_.embedding, costs_.embedding, 1);
  const std::int64_t again = work_.blocks - work_.kept_blocks;
  out_.block = stage(work_.block, costs_.block, static_cast<double>(again));
  out_.kept_block =
      stage(work_.kept_block, costs_.kept_block, static_cast<double>(work_.kept_blocks));
  out_.head = stage(work_.head, costs_.head, 1);
  if (exchanges_) {
    if (shards_parameters(scenario_.parallel.strategy)) {
      price_units();
    } else {
      price_buckets();
    }
  }
  price_partial_gradients();
  price_optimizer();
  out_.begin = {0,
                to_picoseconds(Seconds{gpu_.host.step_us * 1e-6}),
                out_.label("step", Phase::forward, WorkKind::memory)};
  out_.host_seconds += gpu_.host.step_us * 1e-6;
  lower_clock();
  wait_for_slowest();
  return std::move(out_);
}

}  // namespace

bool exchanges_gradients(const StepParts& parts) {
  const Strategy strategy = parts.scenario.parallel.strategy;
  if (strategy == Strategy::none) return false;
  if (strategy == Strategy::ddp) return parts.links.gradients.kind != Link::Kind::none;
  // The wrapper that shards parameters gathers and scatters with one rank, too: by copies.
  return shards_parameters(strategy) || axis_size(parts.scenario, Axis::data) > 1;
}

TimedStep time_step(const StepParts& parts, const Without& without) {
  return Pricer(parts, without).price();
}

}  // namespace stepsight
