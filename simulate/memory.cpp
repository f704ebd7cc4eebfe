#include "simulate/memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/parallel_layout.h"
#include "model/stage_liveness.h"
#include "simulate/pipeline_schedule.h"

namespace stepsight {

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

// The CUDA context with the kernels of PyTorch, cuBLAS and NCCL loaded: class value, 0.4 to 0.6 GB
// on cards from Ampere on.
constexpr double context_bytes = 0.5e9;
// What the allocator holds and cannot use: class value.
constexpr double fragmentation = 0.03;
// A communicator's buffers: NCCL_BUFFSIZE of 4 MiB, beside 1.5 MiB for the two latency protocols,
// for sending and for receiving, a channel; 16 channels where GPUs have NVLink.
constexpr double communicator_bytes = 2 * 5.5 * 16 * mebibyte;

// PyTorch gives each thread that issues products a workspace of its own: the one of forward and
// autograd's. 32 MiB on Hopper and later, 8.125 MiB before (getChosenWorkspaceSize in
// aten/src/ATen/cuda/CublasHandlePool.cpp).
double cublas_workspace(const GpuProfile& gpu) {
  const bool hopper =
      gpu.vendor_TFLOPS[static_cast<std::size_t>(Dtype::fp8)] > 0 && gpu.hbm_TBps >= 2;
  return 2 * (hopper ? 32 : 8.125) * mebibyte;
}

double largest_tensor(const StepWork& work) {
  std::int64_t most = 0;
  for (const StageWork* stage : {&work.embedding, &work.block, &work.head}) {
    for (const GradientReady& r : stage->ready) most = std::max(most, r.elements);
  }
  return static_cast<double>(most);
}

// Bytes an element.
struct Widths {
  double parameter = 0;
  double compute = 0;
  double gradient = 0;  // as it is held between backward and update
  double formed = 0;    // as backward forms it
  double reduced = 0;   // as it travels
  double optimizer = 0;
};

Widths widths_of(const Scenario& s) {
  const Training& t = s.training;
  Widths w;
  w.parameter = info(parameter_dtype(t.precision)).bytes;
  w.compute = info(t.precision.compute).bytes;
  w.formed = shards_parameters(s.parallel.strategy) ? w.compute : w.parameter;
  w.reduced = gradient_bytes(t);
  // Beside an fp32 copy of the parameters gradients are added up and kept as they travel.
  w.gradient = t.precision.master ? w.reduced : w.parameter;
  const double state = info(optimizer_dtype(t.precision)).bytes;
  w.optimizer = t.precision.master ? state : 0;
  switch (t.optimizer) {
    case OptimizerKind::adamw:
      w.optimizer += 2 * state;
      break;
    case OptimizerKind::sgd_momentum:
      w.optimizer += state;
      break;
    case OptimizerKind::sgd:
      break;
  }
  return w;
}

// What one pipeline stage holds of the model, and of how many micro-batches.
struct Share {
  double blocks = 0;
  bool embedding = true;
  bool head = true;
  double in_flight = 1;  // micro-batches whose activations are kept at once, in whole stages
};

// Pairs of micro-batch and chunk at once: what warm-up runs and the one after it; zero-bubble's
// stages also wait with as many gradients of weights as there are stages before them.
Share share_of(const Scenario& s, std::int64_t blocks, std::int64_t stage) {
  const Parallel& p = s.parallel;
  Share share;
  share.blocks = static_cast<double>(blocks_at(blocks, s.model.dense_layers, p.pipeline, stage));
  share.embedding = stage == 0;
  share.head = stage == p.pipeline - 1;
  if (p.pipeline == 1) return share;
  const PipelineShape shape{p.schedule, p.pipeline, s.training.accumulation, p.chunks};
  const std::int64_t put_off = p.schedule == PipelineSchedule::zero_bubble ? stage : 0;
  const std::int64_t pairs =
      std::min(shape.micro_batches * shape.chunks, warm_up_forwards(shape, stage) + 1 + put_off);
  share.in_flight = static_cast<double>(pairs) / static_cast<double>(shape.chunks);
  return share;
}

// Parameters of the usual layers, and of experts that ranks share out.
struct Elements {
  double usual = 0, experts = 0;

  [[nodiscard]] double sum() const { return usual + experts; }
  friend Elements operator+(Elements a, Elements b) {
    return {a.usual + b.usual, a.experts + b.experts};
  }
  friend Elements operator*(double times, Elements e) {
    return {times * e.usual, times * e.experts};
  }
};

Elements elements_of(const StageWork& stage) {
  const double experts = expert_elements(stage);
  return {gradient_elements(stage) - experts, experts};
}

// Everything that does not depend on the batch's moment, and the stages' walks.
class Card {
 public:
  Card(const StepWork& work, const Scenario& s, const GpuProfile& gpu, bool synced);

  Memory of(const Share& share) const;

 private:
  [[nodiscard]] LivenessRules rules() const;
  [[nodiscard]] Elements states(const Share& share) const;
  // A rank's share of them, or all.
  [[nodiscard]] double share_of(const Elements& e, bool shared_out) const {
    return shared_out ? e.usual / shards_ + e.experts / expert_shards_ : e.sum();
  }
  [[nodiscard]] double gradient_buckets(const Elements& held) const;
  [[nodiscard]] bool offloads(Offload what) const { return scenario_.parallel.offload == what; }
  // Gradients go to the host as they come. Those that micro-steps add up on the card stay until the
  // last.
  [[nodiscard]] bool gradients_leave() const {
    return updates_on_host(scenario_.parallel.offload) &&
           (!accumulates_ || shards_gradients(strategy_));
  }
  [[nodiscard]] double on_host(const Share& share) const;
  [[nodiscard]] MemoryParts steady(const Share& share) const;
  [[nodiscard]] double gathered(double blocks) const;
  [[nodiscard]] double saved(double blocks) const;
  [[nodiscard]] double reserve(double peak) const;

  const StepWork& work_;
  const Scenario& scenario_;
  const GpuProfile& gpu_;
  bool synced_;
  Strategy strategy_;
  Widths width_;
  double shards_, expert_shards_;
  bool accumulates_;
  StageLiveness embedding_, block_, kept_block_, head_;
};

Card::Card(const StepWork& work, const Scenario& s, const GpuProfile& gpu, bool synced)
    : work_(work),
      scenario_(s),
      gpu_(gpu),
      synced_(synced),
      strategy_(s.parallel.strategy),
      width_(widths_of(s)),
      shards_(static_cast<double>(axis_size(s, Axis::shard))),
      expert_shards_(static_cast<double>(axis_size(s, Axis::expert_shard))),
      accumulates_(s.training.accumulation > 1) {
  LivenessRules r = rules();
  block_ = walk_stage(work.block, r);
  r.recompute = Recompute::none;
  if (work.kept_blocks > 0) kept_block_ = walk_stage(work.kept_block, r);
  r.boundary_bytes = 0;
  head_ = walk_stage(work.head, r);
  r = rules();
  r.recompute = Recompute::none;
  r.pending_elements = head_.pending_elements;
  embedding_ = walk_stage(work.embedding, r);
}

LivenessRules Card::rules() const {
  const Training& t = scenario_.training;
  LivenessRules r;
  r.compute = t.precision.compute;
  // Sharded parameters are cast when they are gathered, not by autocast.
  r.mixed = t.precision.mixed && !shards_parameters(strategy_);
  r.compiled = t.compile;
  r.dropout = scenario_.model.dropout > 0;
  // Hugging Face's encoders hand the logits to the loss as they are.
  r.narrow_loss = r.mixed && scenario_.model.family == Family::bert;
  r.recompute = t.recompute;
  r.gradient_bytes = width_.formed;
  r.gradients_stay = !accumulates_ || shards_gradients(strategy_);
  const double stream = r.mixed ? 4 : width_.compute;
  r.tensor_ranks = static_cast<double>(scenario_.parallel.tensor);
  const Parallel& p = scenario_.parallel;
  const double rows =
      work_.tokens / static_cast<double>(p.context) / (p.sequence ? r.tensor_ranks : 1);
  r.boundary_bytes = rows * static_cast<double>(scenario_.model.hidden) * stream;
  return r;
}

// Elements of the parameters that a stage holds. First and last stage of a pipeline hold a tied
// table each.
Elements Card::states(const Share& share) const {
  Elements sum = share.blocks * elements_of(work_.block);
  if (share.embedding) sum.usual += gradient_elements(work_.embedding);
  if (share.head) {
    sum.usual += gradient_elements(work_.head) + (share.embedding ? 0 : head_.pending_elements);
  }
  return sum;
}

// DDP's copies of the gradients: of those that are exchanged.
double Card::gradient_buckets(const Elements& held) const {
  if (!synced_ || strategy_ != Strategy::ddp) return 0;
  const bool experts = axis_size(scenario_, Axis::expert_data) > 1;
  return (held.usual + (experts ? held.experts : 0)) * width_.reduced;
}

// What that many blocks keep for backward: those that recompute and those that do not, in the
// model's proportion.
double Card::saved(double blocks) const {
  // Of those that go to the host one is on its way and one runs.
  if (offloads(Offload::activations)) blocks = std::min(blocks, 2.0);
  const double kept =
      static_cast<double>(work_.kept_blocks) / std::max(1.0, static_cast<double>(work_.blocks));
  return blocks * ((1 - kept) * block_.saved + kept * kept_block_.saved);
}

// Units that lie gathered while one of them computes, the root beside them.
double Card::gathered(double blocks) const {
  const Parallel& p = scenario_.parallel;
  if (!shards_parameters(strategy_)) return 0;
  if (shards_ <= 1 && !offloads(Offload::parameters)) return 0;
  const double root = gradient_elements(work_.embedding) + gradient_elements(work_.head);
  const auto unit = static_cast<double>(p.unit_layers);
  const double units = p.reshard_after_forward
                           ? std::min(blocks, unit * static_cast<double>(1 + p.prefetch))
                           : blocks;
  // Experts that one rank holds whole are used where they lie.
  const Elements block = elements_of(work_.block);
  const bool gathers = expert_shards_ > 1 || offloads(Offload::parameters);
  const double of_block = block.usual + (gathers ? block.experts : 0);
  return (root + units * of_block) * width_.compute;
}

// What is there at every moment of a steady step.
MemoryParts Card::steady(const Share& share) const {
  const Elements elements = states(share);
  MemoryParts parts;
  if (!offloads(Offload::parameters)) {
    parts.parameters = width_.parameter * share_of(elements, shards_parameters(strategy_));
  }
  if (!updates_on_host(scenario_.parallel.offload)) {
    parts.optimizer = width_.optimizer * share_of(elements, shards_optimizer(strategy_));
  }
  if (accumulates_ && !gradients_leave()) {
    parts.gradients = width_.gradient * share_of(elements, shards_gradients(strategy_));
  }
  parts.communication = gradient_buckets(elements) + gathered(share.blocks);
  parts.workspace = cublas_workspace(gpu_);
  return parts;
}

// What lies in host memory, pinned: states with the gradients that they wait for, or activations.
double Card::on_host(const Share& share) const {
  const Elements elements = states(share);
  if (offloads(Offload::activations)) {
    const double each = block_.saved;
    return each * share.blocks;
  }
  if (!updates_on_host(scenario_.parallel.offload)) return 0;
  const double states =
      width_.optimizer + width_.gradient + (offloads(Offload::parameters) ? width_.parameter : 0);
  return states * share_of(elements, shards_optimizer(strategy_));
}

double Card::reserve(double peak) const {
  double communicators = 0;
  for (const Axis axis : {Axis::tensor, Axis::context, Axis::expert, Axis::pipeline, Axis::data}) {
    if (axis_size(scenario_, axis) > 1) ++communicators;
  }
  if (scenario_.parallel.shard_group > 0 && axis_size(scenario_, Axis::replicate) > 1) {
    ++communicators;
  }
  return context_bytes + communicators * communicator_bytes + fragmentation * peak;
}

Memory Card::of(const Share& share) const {
  const MemoryParts steady_parts = steady(share);
  const Elements held = states(share);
  const double elements = held.sum();
  const bool scatters = shards_gradients(strategy_) && shards_ > 1;

  Memory m;
  m.parameters = steady_parts.parameters;
  m.optimizer = steady_parts.optimizer;
  m.gradients = gradients_leave() ? 0 : width_.gradient * share_of(held, scatters);
  m.host = on_host(share);
  m.buckets = gradient_buckets(held);

  const double embedding_saved = share.embedding ? embedding_.saved : 0;
  const double head_saved = share.head ? head_.saved : 0;
  const double kept = embedding_saved + saved(share.blocks) + head_saved;
  const double others = (share.in_flight - 1) * kept;  // micro-batches whose backward comes later
  m.activations = kept + others;

  // Gradients that earlier stages of backward have left, in elements.
  const Elements head_elements{
      share.head ? gradient_elements(work_.head) + head_.pending_elements : 0, 0};
  const auto left = [&](const Elements& formed) {
    if (accumulates_ || gradients_leave()) return 0.0;
    return width_.gradient * share_of(formed, scatters);
  };
  const Elements of_block = elements_of(work_.block);
  // What one unit's gradients take on their way: two buckets of ZeRO-1 and 2, or FSDP's unit.
  const Parallel& p = scenario_.parallel;
  const double block_elements = gradient_elements(work_.block);
  double on_their_way = 0;
  double unit_formed = 0;  // gradients of the unit's other blocks, formed and not yet scattered
  if (shards_parameters(strategy_) && (shards_ > 1 || gradients_leave())) {
    const auto unit = std::min(share.blocks, static_cast<double>(p.unit_layers));
    on_their_way = unit * block_elements * width_.reduced;
    unit_formed = (unit - 1) * block_elements * width_.formed;
  } else if (shards_optimizer(strategy_) && shards_ > 1) {
    on_their_way = std::min(2 * p.bucket_cap_MB * mebibyte, elements * width_.reduced);
  }

  const auto consider = [&](MemoryMoment moment,
                            const LiveBytes& now,
                            double saved_elsewhere,
                            double gradients_left,
                            double travelling) {
    MemoryParts parts = steady_parts;
    parts.activations += saved_elsewhere + others + now.saved;
    parts.temporaries += now.temporary;
    parts.gradients += gradients_left + now.gradients;
    parts.communication += travelling;
    if (parts.sum() > m.peak) {
      m.peak = parts.sum();
      m.at_peak = parts;
      m.moment = moment;
    }
  };
  if (share.embedding) consider(MemoryMoment::forward, embedding_.forward, 0, 0, 0);
  if (share.blocks > 0) {
    consider(
        MemoryMoment::forward, block_.forward, embedding_saved + saved(share.blocks - 1), 0, 0);
  }
  if (share.head) {
    const double before = embedding_saved + saved(share.blocks);
    consider(MemoryMoment::loss, head_.forward, before, 0, 0);
    consider(MemoryMoment::loss, head_.backward, before, 0, 0);
  }
  if (share.blocks > 0) {
    // Along the blocks activations go and gradients come, both evenly: the peak is at one end.
    consider(MemoryMoment::backward,
             block_.backward,
             embedding_saved + saved(share.blocks - 1),
             left(head_elements) + unit_formed,
             on_their_way);
    consider(MemoryMoment::end_of_backward,
             block_.backward,
             embedding_saved,
             left(head_elements + (share.blocks - 1) * of_block) + unit_formed,
             on_their_way);
  }
  if (share.embedding) {
    consider(MemoryMoment::end_of_backward,
             embedding_.backward,
             0,
             left(head_elements + share.blocks * of_block),
             on_their_way);
  }
  // An update without fused kernels works on one tensor at a time: the denominator and the
  // quotient. One that keeps fp32 copies casts gradients that are narrower.
  const double wide = info(optimizer_dtype(scenario_.training.precision)).bytes;
  const double optimizer_share = shards_optimizer(strategy_) ? 1 / shards_ : 1;
  LiveBytes update;
  const bool here = !updates_on_host(scenario_.parallel.offload);
  if (here && !scenario_.training.fused_optimizer) {
    update.temporary += 2 * largest_tensor(work_) * wide * optimizer_share;
  }
  if (here && scenario_.training.precision.master && width_.gradient < wide) {
    update.temporary += wide * share_of(held, shards_optimizer(strategy_));
  }
  MemoryParts parts = steady_parts;
  parts.communication -= gathered(share.blocks);
  parts.gradients = m.gradients;
  parts.temporaries = update.temporary;
  if (parts.sum() > m.peak) {
    m.peak = parts.sum();
    m.at_peak = parts;
    m.moment = MemoryMoment::update;
  }
  m.reserve = reserve(m.peak);
  m.needed = m.peak + m.reserve;
  m.fits = m.needed <= gpu_.memory_bytes;
  return m;
}

// The pipeline stage that needs most.
Memory fullest_stage(const StepWork& work, const Scenario& s, const GpuProfile& gpu, bool synced) {
  const Card card(work, s, gpu, synced);
  Memory most;
  for (std::int64_t stage = 0; stage < s.parallel.pipeline; ++stage) {
    Memory m = card.of(share_of(s, work.blocks, stage));
    m.stage = stage;
    if (m.needed > most.needed) most = std::move(m);
  }
  return most;
}

Memory with(const Scenario& s, const GpuProfile& gpu, bool synced) {
  return fullest_stage(step_work(s), s, gpu, synced);
}

// The largest batch that is asked about: what a scenario may say, and no more than keeps the
// elements of every tensor a whole number that a double holds.
std::int64_t most_batch(const Scenario& s) {
  const auto seq = static_cast<double>(std::max<std::int64_t>(1, s.training.seq));
  const ModelShape& m = s.model;
  const double widest =
      std::max({1.0,
                static_cast<double>(std::max({m.vocab, m.ffn, m.hidden, m.heads * m.head_dim})),
                static_cast<double>(m.heads) * seq});
  return static_cast<std::int64_t>(std::clamp(9e15 / seq / widest, 2.0, 1e6)) + 1;
}

// Needed bytes grow with the batch, ever faster: a line through two batches passes the card's
// memory at a batch that is too large, and the search goes on between.
std::int64_t largest_batch(const Scenario& scenario, const GpuProfile& gpu, bool synced) {
  Scenario at = scenario;
  const auto needed = [&](std::int64_t batch) {
    at.training.batch = batch;
    return with(at, gpu, synced).needed;
  };
  const std::int64_t most = most_batch(scenario);
  std::int64_t fits = 1;
  double fits_bytes = needed(1);
  if (fits_bytes > gpu.memory_bytes) return 0;
  std::int64_t too_large = most;
  double slope = needed(2) - fits_bytes;
  while (too_large - fits > 1) {
    const double reach = slope > 0 ? (gpu.memory_bytes - fits_bytes) / slope : 1e12;
    const auto guess =
        static_cast<std::int64_t>(std::clamp(static_cast<double>(fits) + reach, 1.0, 1e12));
    const std::int64_t middle = std::clamp(guess, fits + 1, too_large - 1);
    const double bytes = needed(middle);
    const auto apart = static_cast<double>(middle - fits);
    if (bytes <= gpu.memory_bytes) {
      slope = (bytes - fits_bytes) / apart;
      fits = middle;
      fits_bytes = bytes;
      // The next that does not fit is most often the next.
      if (too_large - fits > 1 && needed(fits + 1) > gpu.memory_bytes) return fits;
    } else {
      slope = (bytes - fits_bytes) / apart;
      too_large = middle;
    }
  }
  return fits;
}

std::vector<Remedy> remedies(const Memory& m,
                             const Scenario& s,
                             const GpuProfile& gpu,
                             bool synced) {
  std::vector<Remedy> out;
  const auto add = [&](RemedyKind kind, std::int64_t value, const Scenario& changed) {
    const Memory after = with(changed, gpu, synced);
    if (after.needed < m.needed) out.push_back({kind, value, after.needed, after.fits});
    return after.fits;
  };
  Scenario changed = s;
  if (m.largest_batch > 0 && m.largest_batch < s.training.batch) {
    changed.training.batch = m.largest_batch;
    add(RemedyKind::smaller_batch, m.largest_batch, changed);
  }
  changed = s;
  if (s.training.recompute != Recompute::full) {
    changed.training.recompute = Recompute::full;
    add(RemedyKind::recompute, 0, changed);
  }
  changed = s;
  changed.parallel.strategy = Strategy::fsdp;
  const std::int64_t ranks = data_parallel(s);
  bool enough = false;
  if (ranks > 1 && !shards_parameters(s.parallel.strategy)) {
    enough = add(RemedyKind::shard, s.cluster.gpus, changed);
  }
  // Every rank keeps its batch; twice as many GPUs hold half of the states each.
  constexpr std::int64_t most = 4096;
  while (!enough && changed.cluster.gpus * 2 <= most) {
    changed.cluster.gpus *= 2;
    changed.parallel.shard_group = 0;
    const Memory after = with(changed, gpu, synced);
    if (!after.fits) continue;
    out.push_back({RemedyKind::more_gpus, changed.cluster.gpus, after.needed, true});
    enough = true;
  }
  // Those that suffice come first.
  std::ranges::stable_sort(out, [](const Remedy& a, const Remedy& b) { return a.fits > b.fits; });
  return out;
}

}  // namespace

const MemoryPart& largest_part(const MemoryParts& parts) {
  return *std::ranges::max_element(
      memory_parts, {}, [&](const MemoryPart& p) { return parts.*p.bytes; });
}

StateWidths state_widths(const Scenario& scenario) {
  const Widths w = widths_of(scenario);
  return {w.parameter, w.gradient, w.optimizer};
}

Memory peak_memory_of(const StepWork& work,
                      const Scenario& scenario,
                      const GpuProfile& gpu,
                      bool synced) {
  return fullest_stage(work, scenario, gpu, synced);
}

Memory memory_of(const StepWork& work,
                 const Scenario& scenario,
                 const GpuProfile& gpu,
                 bool synced) {
  Memory m = fullest_stage(work, scenario, gpu, synced);
  m.largest_batch = largest_batch(scenario, gpu, synced);
  if (!m.fits) m.remedies = remedies(m, scenario, gpu, synced);
  return m;
}

}  // namespace stepsight
