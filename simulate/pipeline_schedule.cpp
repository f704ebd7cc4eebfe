#include "simulate/pipeline_schedule.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "model/errors.h"

namespace stepsight {
namespace {

std::int64_t passes_of(PipelineSchedule kind) {
  return kind == PipelineSchedule::zero_bubble ? 3 : 2;
}

void check_count(std::int64_t count, const char* what) {
  if (count >= 1) return;
  throw UserError("a pipeline with " + std::to_string(count) + " " + what +
                  "; expected at least 1");
}

void check_size(const PipelineShape& shape) {
  // Divided, not multiplied: the counts come from a person and the product may wrap.
  std::int64_t left = longest_pipeline_schedule / passes_of(shape.schedule);
  for (const std::int64_t count : {shape.stages, shape.chunks, shape.micro_batches}) left /= count;
  if (left > 0) return;
  const std::int64_t most = longest_pipeline_schedule / passes_of(shape.schedule);
  throw UserError(
      "a pipeline of " + std::to_string(shape.stages) + " stages, " + std::to_string(shape.chunks) +
      " chunks a stage and " + std::to_string(shape.micro_batches) +
      " micro-batches is longer than what is simulated; expected a product of at most " +
      std::to_string(most));
}

void check_chunks(const PipelineShape& shape) {
  if (shape.chunks > most_pipeline_chunks) {
    throw UserError(std::to_string(shape.chunks) + " model chunks a stage; expected at most " +
                    std::to_string(most_pipeline_chunks));
  }
  const bool interleaved = shape.schedule == PipelineSchedule::interleaved;
  if (interleaved && shape.chunks == 1) {
    throw UserError(
        "the schedule `interleaved` with 1 model chunk a stage; expected at least 2, or the "
        "schedule `1f1b`");
  }
  if (!interleaved && shape.chunks > 1) {
    const std::string_view name = schedule_names[static_cast<std::size_t>(shape.schedule)];
    throw UserError("the schedule `" + std::string(name) + "` with " +
                    std::to_string(shape.chunks) +
                    " model chunks a stage; expected 1, or the schedule `interleaved`");
  }
}

void check_groups(const PipelineShape& shape) {
  if (shape.schedule != PipelineSchedule::interleaved) return;
  const std::int64_t over = shape.micro_batches % shape.stages;
  if (over == 0) return;
  const std::int64_t below = shape.micro_batches - over;
  const std::int64_t above = below + shape.stages;
  const std::int64_t nearest = below > 0 && over <= shape.stages - over ? below : above;
  throw UserError("the schedule `interleaved` with " + std::to_string(shape.micro_batches) +
                  " micro-batches on " + std::to_string(shape.stages) +
                  " stages; expected a multiple of the stages, the nearest is " +
                  std::to_string(nearest));
}

// Chunk and micro-batch of one pass after another: groups of p micro-batches go through all chunks.
// Counted up, since a division a pass would be a third of the time.
class Walk {
 public:
  explicit Walk(const PipelineShape& shape) : stages_(shape.stages), chunks_(shape.chunks) {}

  std::int64_t chunk() const { return chunk_; }
  std::int64_t micro_batch() const { return group_ + in_group_; }
  void step() {
    if (++in_group_ < stages_) return;
    in_group_ = 0;
    if (++chunk_ < chunks_) return;
    chunk_ = 0;
    group_ += stages_;
  }

 private:
  std::int64_t stages_;
  std::int64_t chunks_;
  std::int64_t group_ = 0;  // first micro-batch of the group
  std::int64_t in_group_ = 0;
  std::int64_t chunk_ = 0;
};

// Appends one stage's passes in order.
class Writer {
 public:
  explicit Writer(PipelineOrder& out) : shape_(out.shape), ops_(out.ops) {}

  void gpipe();
  void one_forward_one_backward(std::int64_t stage);
  void zero_bubble(std::int64_t stage);

 private:
  void add(PipelinePass pass, std::int64_t chunk, std::int64_t micro_batch) {
    ops_.push_back(
        {pass, static_cast<std::uint8_t>(chunk), static_cast<std::uint32_t>(micro_batch)});
  }

  const PipelineShape& shape_;
  std::vector<PipelineOp>& ops_;
};

void Writer::gpipe() {
  for (std::int64_t i = 0; i < shape_.micro_batches; ++i) add(PipelinePass::forward, 0, i);
  for (std::int64_t i = 0; i < shape_.micro_batches; ++i) add(PipelinePass::backward, 0, i);
}

void Writer::one_forward_one_backward(std::int64_t stage) {
  const std::int64_t all = shape_.micro_batches * shape_.chunks;
  const std::int64_t first = warm_up_forwards(shape_, stage);
  Walk forwards(shape_);
  Walk backwards(shape_);
  const auto forward = [&] {
    add(PipelinePass::forward, forwards.chunk(), forwards.micro_batch());
    forwards.step();
  };
  for (std::int64_t i = 0; i < first; ++i) forward();
  for (std::int64_t i = 0; i < all; ++i) {
    if (first + i < all) forward();
    // Backward goes through the chunks from the last.
    add(PipelinePass::backward, shape_.chunks - 1 - backwards.chunk(), backwards.micro_batch());
    backwards.step();
  }
}

void Writer::zero_bubble(std::int64_t stage) {
  const std::int64_t all = shape_.micro_batches;
  const std::int64_t first = warm_up_forwards(shape_, stage);
  const std::int64_t put_off = std::min(stage, all);
  for (std::int64_t i = 0; i < first; ++i) add(PipelinePass::forward, 0, i);
  for (std::int64_t i = 0; i < all; ++i) {
    if (first + i < all) add(PipelinePass::forward, 0, first + i);
    add(PipelinePass::input_gradient, 0, i);
    if (i >= put_off) add(PipelinePass::weight_gradient, 0, i - put_off);
  }
  for (std::int64_t i = all - put_off; i < all; ++i) add(PipelinePass::weight_gradient, 0, i);
}

}  // namespace

void check_pipeline(const PipelineShape& shape) {
  check_count(shape.stages, "stages");
  check_count(shape.micro_batches, "micro-batches");
  check_count(shape.chunks, "model chunks a stage");
  check_size(shape);
  check_chunks(shape);
  check_groups(shape);
}

std::int64_t warm_up_forwards(const PipelineShape& shape, std::int64_t stage) {
  const std::int64_t all = shape.micro_batches * shape.chunks;
  const std::int64_t after = shape.stages - 1 - stage;
  switch (shape.schedule) {
    case PipelineSchedule::gpipe:
      return all;
    case PipelineSchedule::interleaved:
      return std::min(all, 2 * after + (shape.chunks - 1) * shape.stages);
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::zero_bubble:
      break;
  }
  return std::min(all, after);
}

PipelineOrder order_passes(const PipelineShape& shape) {
  check_pipeline(shape);
  PipelineOrder out;
  out.shape = shape;
  out.ops_per_stage =
      static_cast<std::uint32_t>(passes_of(shape.schedule) * shape.micro_batches * shape.chunks);
  out.ops.reserve(static_cast<std::size_t>(shape.stages) * out.ops_per_stage);
  Writer writer(out);
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    switch (shape.schedule) {
      case PipelineSchedule::gpipe:
        writer.gpipe();
        break;
      case PipelineSchedule::one_f_one_b:
      case PipelineSchedule::interleaved:
        writer.one_forward_one_backward(stage);
        break;
      case PipelineSchedule::zero_bubble:
        writer.zero_bubble(stage);
        break;
    }
  }
  return out;
}

std::int64_t peak_in_flight(const PipelineOrder& schedule, std::int64_t stage) {
  std::int64_t alive = 0;
  std::int64_t peak = 0;
  for (const PipelineOp& op : schedule.of(stage)) {
    if (op.pass == PipelinePass::forward) peak = std::max(peak, ++alive);
    if (gives_weight_gradient(op.pass)) --alive;
  }
  return peak;
}

}  // namespace stepsight
