#include "simulate/pipeline_step.h"

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

#include "model/cost.h"
#include "simulate/timeline.h"

namespace stepsight {

namespace {

double seconds(Picoseconds time) {
  return to_seconds(time).value;
}

// Kernel and issue time of a list, and of what in it forms gradients of weights.
struct Pass {
  double kernel = 0;
  double weights = 0;
  double issue = 0;
  double weights_issue = 0;
};

bool forms_weight_gradient(const Operator& op) {
  if (const auto* gemm = std::get_if<Gemm>(&op.work))
    return gemm->layout == Layout::NT && gemm->batch == 1;
  if (const auto* c = std::get_if<Convolution>(&op.work)) {
    return c->direction == ConvolutionDirection::wgrad;
  }
  return false;
}

// A message in the middle of a pass holds it up for what runs beside it leaves over.
double waiting(const TimedExchange& e, std::span<const Timed> list) {
  double beside = 0;
  for (std::size_t i = e.before; i < list.size() && i < e.before + e.beside; ++i) {
    beside += seconds(list[i].kernel);
  }
  return std::max(0.0, seconds(e.message.kernel) - beside);
}

Pass pass_of(std::span<const Timed> list,
             std::span<const TimedExchange> exchanges,
             std::span<const Operator> operators) {
  Pass out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool weights = forms_weight_gradient(operators[i]);
    (weights ? out.weights : out.kernel) += seconds(list[i].kernel);
    (weights ? out.weights_issue : out.issue) += seconds(list[i].issue);
  }
  for (const TimedExchange& e : exchanges) {
    out.kernel += waiting(e, list);
    // A host that has read how much to send finds the card waiting.
    if (e.stops_host) out.kernel += seconds(e.message.issue);
    out.issue += seconds(e.message.issue);
  }
  return out;
}

// Parameters of the usual layers, and of experts that ranks share out.
struct Elements {
  double usual = 0, experts = 0;
};

struct StagePasses {
  Pass forward, backward;
  double elements = 0;
  double experts = 0;  // of those, that ranks share out
};

StagePasses passes_of(const StageWork& work, const TimedStage& timed, bool accumulates) {
  StagePasses out{pass_of(timed.forward, timed.forward_exchanges, work.forward),
                  pass_of(timed.backward, timed.backward_exchanges, work.backward),
                  gradient_elements(work),
                  expert_elements(work)};
  // All of forward is one pass; only backward is cut in two.
  out.forward.kernel += out.forward.weights;
  out.forward.issue += out.forward.weights_issue;
  if (!accumulates) return out;
  for (const Timed& add : timed.accumulate) {
    out.backward.weights += seconds(add.kernel);
    out.backward.weights_issue += seconds(add.issue);
  }
  return out;
}

class Pricing {
 public:
  Pricing(const StepParts& parts, const TimedStep& timed, const Without& without)
      : parts_(parts),
        without_(without),
        parallel_(parts.scenario.parallel),
        timed_(timed),
        embedding_(passes_of(parts.work.embedding, timed.embedding, accumulates())),
        block_(passes_of(parts.work.block, timed.block, accumulates())),
        kept_(passes_of(parts.work.kept_block, timed.kept_block, accumulates())),
        head_(passes_of(parts.work.head, timed.head, accumulates())) {}

  PipelineCosts price() const;

 private:
  [[nodiscard]] bool accumulates() const { return parts_.scenario.training.accumulation > 1; }
  void add(PipelineChunkCosts& chunk, const StagePasses& stage, double times) const;
  void add_parameters(PipelineChunkCosts& chunk, const Elements& elements) const;
  void add_exchange(PipelineChunkCosts& chunk, double elements, bool experts) const;
  [[nodiscard]] double updated(const Elements& held) const;
  [[nodiscard]] PipelineMessage message() const;
  [[nodiscard]] Seconds time_of(const Link& link, double bytes) const {
    return without_.communication ? Seconds{0} : message_time(link, parts_.gpu, Bytes{bytes}).time;
  }

  const StepParts& parts_;
  const Without& without_;
  const Parallel& parallel_;
  const TimedStep& timed_;
  StagePasses embedding_, block_, kept_, head_;
};

void Pricing::add(PipelineChunkCosts& chunk, const StagePasses& stage, double times) const {
  chunk.forward += Seconds{times * stage.forward.kernel};
  chunk.input_gradient += Seconds{times * stage.backward.kernel};
  chunk.weight_gradient += Seconds{times * stage.backward.weights};
  chunk.forward_issue += Seconds{times * stage.forward.issue};
  chunk.input_gradient_issue += Seconds{times * stage.backward.issue};
  chunk.weight_gradient_issue += Seconds{times * stage.backward.weights_issue};
}

// What the data-parallel ranks exchange of a chunk's parameters once a step.
void Pricing::add_parameters(PipelineChunkCosts& chunk, const Elements& elements) const {
  if (!exchanges_gradients(parts_)) return;
  const double reduced =
      (elements.usual + elements.experts) * gradient_bytes(parts_.scenario.training);
  const double cap = parallel_.bucket_cap_MB * 1024 * 1024;
  chunk.gradient_buckets = static_cast<std::uint32_t>(
      parallel_.overlap ? std::clamp(std::ceil(reduced / cap), 1.0, 64.0) : 1.0);
  add_exchange(chunk, elements.usual, false);
  if (elements.experts > 0) add_exchange(chunk, elements.experts, true);
}

void Pricing::add_exchange(PipelineChunkCosts& chunk, double elements, bool experts) const {
  const auto axis = [&](Axis usual) { return experts ? of_experts(usual) : usual; };
  const Training& training = parts_.scenario.training;
  const double reduced = elements * gradient_bytes(training);
  const double each = reduced / chunk.gradient_buckets;
  const Link& link =
      shards_optimizer(parallel_.strategy)
          ? parts_.links.of(axis(Axis::shard), gradient_collective(training.precision))
          : parts_.links.of(axis(Axis::data), CollectiveKind::all_reduce);
  chunk.gradient_sync += time_of(link, each) * static_cast<double>(chunk.gradient_buckets);
  if (!shards_optimizer(parallel_.strategy)) return;
  const double held = elements * info(parameter_dtype(training.precision)).bytes;
  chunk.parameter_gather +=
      time_of(parts_.links.of(axis(Axis::shard), CollectiveKind::all_gather), held);
  const Link& between = parts_.links.of(axis(Axis::replicate), CollectiveKind::all_reduce);
  if (between.kind != Link::Kind::none) {
    const auto shards = static_cast<double>(axis_size(parts_.scenario, axis(Axis::shard)));
    chunk.gradient_sync += time_of(between, reduced / shards);
  }
}

// Elements that a rank's optimizer works on.
double Pricing::updated(const Elements& held) const {
  const auto share = [&](Axis axis) {
    return static_cast<double>(axis_size(parts_.scenario, axis));
  };
  return held.usual / share(Axis::shard) + held.experts / share(Axis::expert_shard);
}

// Activations of a micro-batch between two stages: each tensor-parallel rank sends its part, and
// where the next stage needs the whole its ranks gather it (Narayanan et al. 2021, section 4.1).
PipelineMessage Pricing::message() const {
  const Training& t = parts_.scenario.training;
  const double width = info(t.precision.mixed ? Dtype::fp32 : t.precision.compute).bytes;
  const double whole = static_cast<double>(t.batch * t.seq) *
                       static_cast<double>(parts_.scenario.model.hidden) * width /
                       static_cast<double>(parallel_.context);
  const double part = whole / static_cast<double>(parallel_.tensor);
  Seconds time = time_of(parts_.links.neighbours, part);
  if (!parallel_.sequence) {
    time += time_of(parts_.links.of(Axis::tensor, CollectiveKind::all_gather), whole);
  }
  return {Bytes{part}, time};
}

PipelineCosts Pricing::price() const {
  const std::int64_t stages = parallel_.pipeline;
  const std::int64_t chunks = parallel_.chunks;
  const std::int64_t places = stages * chunks;
  const std::int64_t blocks = parts_.work.blocks;
  const double kept = static_cast<double>(parts_.work.kept_blocks) / static_cast<double>(blocks);
  const std::int64_t dense = parts_.scenario.model.dense_layers;
  const auto all = static_cast<double>(blocks);
  const Elements whole{
      embedding_.elements + all * (block_.elements - block_.experts) + head_.elements,
      all * block_.experts};
  PipelineCosts out;
  out.stages.resize(static_cast<std::size_t>(stages));
  for (std::int64_t s = 0; s < stages; ++s) {
    PipelineStageCosts& stage = out.stages[static_cast<std::size_t>(s)];
    stage.activations = stage.gradients = message();
    Elements held;
    for (std::int64_t c = 0; c < chunks; ++c) {
      const std::int64_t place = c * stages + s;
      const auto n = static_cast<double>(blocks_at(blocks, dense, places, place));
      PipelineChunkCosts chunk;
      Elements own{n * (block_.elements - block_.experts), n * block_.experts};
      add(chunk, block_, n * (1 - kept));
      if (kept > 0) add(chunk, kept_, n * kept);
      if (place == 0) {
        add(chunk, embedding_, 1);
        own.usual += embedding_.elements;
      }
      if (place == places - 1) {
        add(chunk, head_, 1);
        own.usual += head_.elements;
      }
      add_parameters(chunk, own);
      held.usual += own.usual;
      held.experts += own.experts;
      stage.chunks.push_back(chunk);
    }
    const double share = updated(held) / updated(whole);
    stage.optimizer = Seconds{seconds(timed_.optimizer.kernel) * share};
  }
  if (parts_.scenario.model.tied_head) {
    const double table = static_cast<double>(parts_.scenario.model.vocab) *
                         static_cast<double>(parts_.scenario.model.hidden) /
                         static_cast<double>(parallel_.tensor) *
                         gradient_bytes(parts_.scenario.training);
    out.embedding_sync = time_of(parts_.links.ends, table);
  }
  out.overlap_gradient_sync = parallel_.overlap;
  out.global_norm = true;
  out.messages = parallel_.schedule == PipelineSchedule::interleaved
                     ? PipelineMessages::overlapped_in_between
                     : PipelineMessages::blocking;
  // The stack waits for the device after each exchange of a blocking message (Megatron-LM,
  // ModelParallelConfig.batch_p2p_sync, on by default; DeepSpeed's engine likewise).
  out.messages_stop_host = out.messages == PipelineMessages::blocking;
  return out;
}

}  // namespace

PipelineCosts pipeline_costs(const StepParts& parts,
                             const TimedStep& timed,
                             const Without& without) {
  return Pricing(parts, timed, without).price();
}

PipelineProgram build_stages(const StepParts& parts,
                             const TimedStep& timed,
                             const Without& without,
                             HostLane host) {
  const Parallel& p = parts.scenario.parallel;
  return build_pipeline(
      order_passes({p.schedule, p.pipeline, parts.scenario.training.accumulation, p.chunks}),
      pipeline_costs(parts, timed, without),
      host);
}

StagesTime run_stages(const PipelineProgram& program, const Machine& machine) {
  const Timeline timeline = run(program.program, machine);
  StagesTime out;
  out.step = to_seconds(timeline.makespan);
  for (const ClassTimes& busy : class_busy(program.program, timeline)) {
    const auto of = [&](LaneClass lane) {
      return to_seconds(busy[static_cast<std::size_t>(lane)]);
    };
    out.busy = std::max(out.busy, of(LaneClass::compute));
    out.messages = std::max(out.messages, of(LaneClass::communication));
  }
  return out;
}

}  // namespace stepsight
