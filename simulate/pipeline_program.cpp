#include "simulate/pipeline_program.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <utility>

namespace stepsight {
namespace {

void require(bool holds, const char* invariant) {
  if (!holds) throw std::logic_error(invariant);
}

// The tasks whose end is the moment when a stage has come to some point; no_index where there is
// none. For a pass: its compute and its issue.
struct Reach {
  std::uint32_t task = no_index;
  std::uint32_t host = no_index;
};

// What a task waits for, gathered before it is added.
class Waits {
 public:
  void add(std::uint32_t task) {
    if (task != no_index) list_[count_++] = TaskId{task};
  }
  void add(Reach reach) {
    add(reach.task);
    add(reach.host);
  }
  operator std::span<const TaskId>() const { return {list_.data(), count_}; }

 private:
  // A pass: two messages of two tasks (a pair of passes), two sends held, issue, gather.
  std::array<TaskId, 8> list_;
  std::size_t count_ = 0;
};

// The messages from one stage to a neighbour in one direction. They are produced, sent, received
// and consumed in the same order, so counters stand for them.
struct Channel {
  std::uint32_t first = 0;  // its messages in Builder::messages_
  std::uint32_t offered = 0;
  std::uint32_t posted = 0;
  std::uint32_t sent = 0;
  std::uint32_t consumed = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  LaneId send{}, receive{};
  Picoseconds work = 0;
  std::uint32_t send_label = 0;
  std::uint32_t receive_label = 0;
};

struct Message {
  Reach offer;                    // the sender has done the pass
  Reach post;                     // the receiver has come to where it waits
  std::uint32_t send = no_index;  // tasks
  std::uint32_t receive = no_index;
};

// How a pass takes part in the exchange of messages.
enum class Exchange : std::uint8_t {
  flowing,      // sends when done, waits for its own message
  alone,        // blocks: exchanges after itself
  pair_opens,   // blocks: waits for the messages of both passes of the pair
  pair_closes,  // and exchanges after both
};

// One kind of pass of one chunk of one stage.
struct PassCost {
  Picoseconds work = 0;
  Picoseconds issue = 0;
};

struct Stage {
  std::uint32_t next = 0;        // pass to add
  std::uint32_t next_post = 0;   // first pass whose receive is not posted
  std::uint32_t alternates = 0;  // passes [alternates, drains) are forward and backward in turn
  std::uint32_t drains = 0;
  Reach last;  // the last pass added
  // Messages sent at the last point of exchange, which the next pass waits for: channel and number.
  std::array<std::pair<std::uint32_t, std::uint32_t>, 2> held;
  std::uint32_t held_count = 0;
  bool to_post = false;  // receives are posted once the held messages are on their way
};

class Builder {
 public:
  Builder(const PipelineOrder& schedule, const PipelineCosts& costs, HostLane host);
  PipelineProgram build();

 private:
  static constexpr std::uint32_t none = no_index;

  void check() const;
  void add_lanes();
  void reserve();
  void time_passes();
  bool host_binds() const;
  void set_channels();
  void set_channel(std::uint32_t channel, std::uint32_t from, std::uint32_t to, bool forwards);
  void set_stages();

  std::span<const PipelineOp> ops(std::uint32_t s) const {
    return std::span(schedule_.ops).subspan(s * per_stage_, per_stage_);
  }
  const PassCost& cost_of(std::uint32_t s, PipelineOp op) const;
  std::uint32_t forward_from(std::uint32_t s) const { return s; }
  std::uint32_t backward_from(std::uint32_t s) const { return stages_ + s; }
  std::uint32_t outgoing(std::uint32_t s, PipelineOp op) const;
  std::uint32_t incoming(std::uint32_t s, PipelineOp op) const;
  Exchange exchange(std::uint32_t s, std::uint32_t i) const;

  void wake(std::uint32_t s);
  void advance(std::uint32_t s);
  bool try_pass(std::uint32_t s);
  bool message_under_way(std::uint32_t s, PipelineOp op) const;
  void consume(std::uint32_t s, PipelineOp op, Waits& waits);
  void add_pass(std::uint32_t s, PipelineOp op, const Waits& messages);
  void add_last_pass(std::uint32_t s, std::uint8_t chunk, const TaskSpec& pass, const Waits& waits);
  void exchange_after(std::uint32_t s, std::uint32_t i);
  void offer(std::uint32_t s, std::uint32_t i, Reach reach, bool hold);
  bool all_held_sent(const Stage& stage) const;
  Reach held_sends(std::uint32_t s) const;
  void post(std::uint32_t s, Reach reach);
  void pass_messages(std::uint32_t channel);

  void gather_parameters(std::uint32_t s, std::uint32_t after);
  void finish();
  TaskId collective(std::uint32_t s,
                    Picoseconds work,
                    PipelineLabel label,
                    std::span<const TaskId> waits);

  const PipelineOrder& schedule_;
  const PipelineCosts& costs_;
  const HostLane host_;
  std::uint32_t stages_;
  std::uint32_t chunks_;
  std::uint32_t per_stage_;
  bool one_task_a_message_;
  // Whether a pass blocks for its send before the next receive of the same kind is posted.
  bool sequential_;
  PipelineProgram out_;
  ProgramBuilder tasks_;
  std::vector<PassCost> passes_;  // [stage][chunk][pass]
  std::vector<Stage> stage_;
  std::vector<Channel> channel_;  // forward from each stage, then backward from each
  std::vector<Message> messages_;
  std::vector<std::uint32_t>
      gradients_left_;                   // [stage][chunk] passes until the gradient is complete
  std::vector<std::uint32_t> gathered_;  // [stage][chunk] task, where the step starts with it
  std::vector<std::uint32_t> awake_;     // stages that may be able to go on
  std::vector<char> is_awake_;
};

constexpr std::size_t pass_kinds = 4;

Builder::Builder(const PipelineOrder& schedule, const PipelineCosts& costs, HostLane host)
    : schedule_(schedule),
      costs_(costs),
      host_(host),
      stages_(static_cast<std::uint32_t>(schedule.shape.stages)),
      chunks_(static_cast<std::uint32_t>(schedule.shape.chunks)),
      per_stage_(schedule.ops_per_stage),
      one_task_a_message_(costs.messages == PipelineMessages::blocking ||
                          (costs.interference.send == 0 && costs.interference.receive == 0)),
      sequential_(schedule.shape.schedule != PipelineSchedule::interleaved) {}

void Builder::check() const {
  require(costs_.stages.size() == stages_, "pipeline costs must have the schedule's stages");
  for (const PipelineStageCosts& stage : costs_.stages) {
    require(stage.chunks.size() == chunks_, "pipeline costs must have the schedule's chunks");
    for (const PipelineChunkCosts& chunk : stage.chunks) {
      require(chunk.gradient_buckets >= 1, "gradients travel in at least one bucket");
    }
  }
}

void Builder::time_passes() {
  passes_.resize(std::size_t{stages_} * chunks_ * pass_kinds);
  std::size_t at = 0;
  for (const PipelineStageCosts& stage : costs_.stages) {
    for (const PipelineChunkCosts& c : stage.chunks) {
      const auto set = [&](PipelinePass pass, Seconds work, Seconds issue) {
        const PassCost cost{to_picoseconds(work), to_picoseconds(issue)};
        passes_[at + static_cast<std::size_t>(pass)] = cost;
        out_.has_host = out_.has_host || cost.issue > 0;
      };
      set(PipelinePass::forward, c.forward, c.forward_issue);
      set(PipelinePass::input_gradient, c.input_gradient, c.input_gradient_issue);
      set(PipelinePass::weight_gradient, c.weight_gradient, c.weight_gradient_issue);
      set(PipelinePass::backward,
          c.input_gradient + c.weight_gradient,
          c.input_gradient_issue + c.weight_gradient_issue);
      at += pass_kinds;
    }
  }
}

const PassCost& Builder::cost_of(std::uint32_t s, PipelineOp op) const {
  const std::size_t chunk = std::size_t{s} * chunks_ + op.chunk;
  return passes_[chunk * pass_kinds + static_cast<std::size_t>(op.pass)];
}

// Does a stage anywhere come to a pass whose issue could still be under way? Compute only falls
// behind the sum of its work.
bool Builder::host_binds() const {
  if (costs_.messages_stop_host) return true;
  for (std::uint32_t s = 0; s < stages_; ++s) {
    Picoseconds ahead = 0;
    for (const PipelineOp op : ops(s)) {
      const PassCost& cost = cost_of(s, op);
      ahead = std::min(ahead, longest_step) + cost.work - cost.issue;
      if (ahead < 0) return true;
    }
  }
  return false;
}

void Builder::add_lanes() {
  out_.has_messages = stages_ > 1;
  out_.stages.resize(stages_);
  for (std::uint32_t s = 0; s < stages_; ++s) {
    PipelineStageLanes& lanes = out_.stages[s];
    lanes.compute = tasks_.add_lane({LaneClass::compute, s});
    lanes.collective = tasks_.add_lane({LaneClass::communication, s});
    if (out_.has_host) lanes.host = tasks_.add_lane({LaneClass::host, s});
    if (!out_.has_messages) continue;
    for (LaneId* lane : {&lanes.send_activations,
                         &lanes.receive_activations,
                         &lanes.send_gradients,
                         &lanes.receive_gradients}) {
      *lane = tasks_.add_lane({LaneClass::communication, s});
    }
  }
}

void Builder::reserve() {
  std::size_t collectives = 4 * std::size_t{stages_};
  for (const PipelineStageCosts& stage : costs_.stages) {
    for (const PipelineChunkCosts& chunk : stage.chunks) {
      collectives += 2 * std::size_t{chunk.gradient_buckets} + 2;
    }
  }
  const std::size_t passes = schedule_.ops.size();
  const std::size_t hosts = out_.has_host ? passes : 0;
  const std::size_t ends = (one_task_a_message_ ? 1 : 2) * messages_.size();
  tasks_.reserve(passes + hosts + ends + collectives,
                 passes + 3 * hosts + 4 * ends + 4 * collectives);
}

void Builder::set_channel(std::uint32_t channel,
                          std::uint32_t from,
                          std::uint32_t to,
                          bool forwards) {
  Channel& c = channel_[channel];
  c.first = static_cast<std::uint32_t>(messages_.size());
  c.from = from;
  c.to = to;
  const PipelineStageLanes& sender = out_.stages[from];
  const PipelineStageLanes& receiver = out_.stages[to];
  c.send = forwards ? sender.send_activations : sender.send_gradients;
  c.receive = forwards ? receiver.receive_activations : receiver.receive_gradients;
  const PipelineStageCosts& costs = costs_.stages[from];
  const PipelineMessage& message = forwards ? costs.activations : costs.gradients;
  c.work = to_picoseconds(message.seconds);
  c.send_label = pack({forwards ? PipelineTask::send_activations : PipelineTask::send_gradients});
  c.receive_label =
      pack({forwards ? PipelineTask::receive_activations : PipelineTask::receive_gradients});
  // The way round from the last stage to the first, or back, is taken between chunks only.
  const bool around = forwards ? from + 1 == stages_ : from == 0;
  const std::size_t count =
      static_cast<std::size_t>(schedule_.shape.micro_batches) * (around ? chunks_ - 1 : chunks_);
  messages_.resize(messages_.size() + count);
  out_.message_bytes += static_cast<double>(count) * message.bytes.value;
}

void Builder::set_channels() {
  if (!out_.has_messages) return;
  channel_.resize(2 * std::size_t{stages_});
  messages_.reserve(2 * std::size_t{stages_} * chunks_ *
                    static_cast<std::size_t>(schedule_.shape.micro_batches));
  for (std::uint32_t s = 0; s < stages_; ++s) {
    set_channel(forward_from(s), s, (s + 1) % stages_, true);
  }
  for (std::uint32_t s = 0; s < stages_; ++s) {
    set_channel(backward_from(s), s, (s + stages_ - 1) % stages_, false);
  }
}

void Builder::set_stages() {
  stage_.resize(stages_);
  is_awake_.assign(stages_, 0);
  awake_.reserve(stages_);
  gradients_left_.assign(std::size_t{stages_} * chunks_,
                         static_cast<std::uint32_t>(schedule_.shape.micro_batches));
  gathered_.assign(std::size_t{stages_} * chunks_, none);
  for (std::uint32_t s = 0; s < stages_; ++s) {
    Stage& stage = stage_[s];
    const auto list = ops(s);
    stage.alternates = static_cast<std::uint32_t>(warm_up_forwards(schedule_.shape, s));
    std::uint32_t last_forward = per_stage_ - 1;
    while (list[last_forward].pass != PipelinePass::forward) --last_forward;
    // The pass after the last forward still belongs to it: the two are one turn.
    stage.drains = last_forward < stage.alternates ? stage.alternates : last_forward + 2;
    post(s, Reach{});
    wake(s);
  }
}

// The channel that carries a pass's result, or what it needs; `none` where it stays on the stage.
std::uint32_t Builder::outgoing(std::uint32_t s, PipelineOp op) const {
  if (stages_ == 1 || op.pass == PipelinePass::weight_gradient) return none;
  if (op.pass == PipelinePass::forward) {
    return s + 1 == stages_ && op.chunk + 1U == chunks_ ? none : forward_from(s);
  }
  return s == 0 && op.chunk == 0 ? none : backward_from(s);
}

std::uint32_t Builder::incoming(std::uint32_t s, PipelineOp op) const {
  if (stages_ == 1 || op.pass == PipelinePass::weight_gradient) return none;
  if (op.pass == PipelinePass::forward) {
    return s == 0 && op.chunk == 0 ? none : forward_from(s == 0 ? stages_ - 1 : s - 1);
  }
  return s + 1 == stages_ && op.chunk + 1U == chunks_ ? none
                                                      : backward_from(s + 1 == stages_ ? 0 : s + 1);
}

Exchange Builder::exchange(std::uint32_t s, std::uint32_t i) const {
  if (costs_.messages == PipelineMessages::overlapped) return Exchange::flowing;
  const Stage& stage = stage_[s];
  if (i < stage.alternates || i >= stage.drains) return Exchange::alone;
  if (costs_.messages == PipelineMessages::overlapped_in_between) return Exchange::flowing;
  if (sequential_) return Exchange::alone;
  return (i - stage.alternates) % 2 == 0 ? Exchange::pair_opens : Exchange::pair_closes;
}

void Builder::wake(std::uint32_t s) {
  if (is_awake_[s] != 0) return;
  is_awake_[s] = 1;
  awake_.push_back(s);
}

// Adds passes of the stage until one needs what is not there yet.
void Builder::advance(std::uint32_t s) {
  while (try_pass(s)) {
  }
}

bool Builder::all_held_sent(const Stage& stage) const {
  for (std::uint32_t h = 0; h < stage.held_count; ++h) {
    if (channel_[stage.held[h].first].sent <= stage.held[h].second) return false;
  }
  return true;
}

// At most two: both messages of a pair.
Reach Builder::held_sends(std::uint32_t s) const {
  const Stage& stage = stage_[s];
  const auto send = [&](std::uint32_t h) {
    if (h >= stage.held_count) return none;
    return messages_[channel_[stage.held[h].first].first + stage.held[h].second].send;
  };
  return {send(0), send(1)};
}

bool Builder::message_under_way(std::uint32_t s, PipelineOp op) const {
  const std::uint32_t in = incoming(s, op);
  return in == none || channel_[in].sent > channel_[in].consumed;
}

// A pass starts when both ends of its message are done: neither can be before the other.
void Builder::consume(std::uint32_t s, PipelineOp op, Waits& waits) {
  const std::uint32_t in = incoming(s, op);
  if (in == none) return;
  const Message& message = messages_[channel_[in].first + channel_[in].consumed++];
  waits.add(message.receive);
  waits.add(message.send);
}

bool Builder::try_pass(std::uint32_t s) {
  Stage& stage = stage_[s];
  const std::uint32_t i = stage.next;
  if (!all_held_sent(stage)) return false;
  if (stage.to_post) {
    // The receive of the next pass is posted after the send of this one.
    stage.to_post = false;
    post(s, {held_sends(s).task, none});
  }
  if (i == per_stage_) return false;
  const auto list = ops(s);
  const Exchange mode = exchange(s, i);
  if (mode != Exchange::pair_closes) {
    if (!message_under_way(s, list[i])) return false;
    if (mode == Exchange::pair_opens && !message_under_way(s, list[i + 1])) return false;
  }
  Waits waits;
  waits.add(held_sends(s));
  stage.held_count = 0;
  if (mode != Exchange::pair_closes) consume(s, list[i], waits);
  if (mode == Exchange::pair_opens) consume(s, list[i + 1], waits);
  ++stage.next;
  add_pass(s, list[i], waits);
  exchange_after(s, i);
  return true;
}

void Builder::add_pass(std::uint32_t s, PipelineOp op, const Waits& messages) {
  Stage& stage = stage_[s];
  const std::size_t chunk = std::size_t{s} * chunks_ + op.chunk;
  const PassCost& cost = cost_of(s, op);
  Waits waits = messages;
  waits.add(stage.last.host);
  if (op.pass == PipelinePass::forward && op.micro_batch == 0) waits.add(gathered_[chunk]);
  if (out_.has_host) {
    const TaskSpec issue{
        out_.stages[s].host, cost.issue, pack({PipelineTask::issue, op.chunk, op.micro_batch}), 0};
    stage.last.host =
        index(costs_.messages_stop_host ? tasks_.add(issue, messages) : tasks_.add(issue));
  }
  const TaskSpec pass{out_.stages[s].compute,
                      cost.work,
                      pack({static_cast<PipelineTask>(op.pass), op.chunk, op.micro_batch}),
                      costs_.interference.compute};
  if (gives_weight_gradient(op.pass) && --gradients_left_[chunk] == 0 &&
      costs_.overlap_gradient_sync) {
    add_last_pass(s, op.chunk, pass, waits);
  } else {
    stage.last.task = index(tasks_.add(pass, waits));
  }
}

// The pass that completes the chunk's gradients, bucket by bucket.
void Builder::add_last_pass(std::uint32_t s,
                            std::uint8_t chunk,
                            const TaskSpec& pass,
                            const Waits& waits) {
  const PipelineChunkCosts& costs = costs_.stages[s].chunks[chunk];
  const Picoseconds sync = to_picoseconds(costs.gradient_sync);
  const Picoseconds buckets = costs.gradient_buckets;
  // Shares whose sum is the whole to the picosecond, without a product that could wrap.
  const auto share = [&](Picoseconds whole, Picoseconds b) {
    return whole / buckets + (b < whole % buckets ? 1 : 0);
  };
  for (Picoseconds b = 0; b < buckets; ++b) {
    TaskSpec piece = pass;
    piece.work = share(pass.work, b);
    const TaskId done = b == 0 ? tasks_.add(piece, waits) : tasks_.add(piece);
    stage_[s].last.task = index(done);
    if (sync > 0) {
      const std::array<TaskId, 1> after{done};
      collective(s, share(sync, b), {PipelineTask::gradient_sync, chunk, 0}, after);
    }
  }
}

TaskId Builder::collective(std::uint32_t s,
                           Picoseconds work,
                           PipelineLabel label,
                           std::span<const TaskId> waits) {
  return tasks_.add({out_.stages[s].collective, work, pack(label), costs_.interference.collective},
                    waits);
}

// Hands over what is sent after the pass, and posts what is received next.
void Builder::exchange_after(std::uint32_t s, std::uint32_t i) {
  Stage& stage = stage_[s];
  const auto list = ops(s);
  switch (exchange(s, i)) {
    case Exchange::flowing:
      offer(s, i, stage.last, false);
      return;
    case Exchange::pair_opens:
      return;
    case Exchange::pair_closes:
      offer(s, i - 1, stage.last, true);
      break;
    case Exchange::alone:
      break;
  }
  offer(s, i, stage.last, true);
  const bool repeats = i + 1 < per_stage_ && list[i + 1].pass == list[i].pass;
  if (sequential_ && repeats && stage.held_count > 0) {
    stage.to_post = true;
  } else {
    post(s, stage.last);
  }
}

void Builder::offer(std::uint32_t s, std::uint32_t i, Reach reach, bool hold) {
  const std::uint32_t out = outgoing(s, ops(s)[i]);
  if (out == none) return;
  Channel& channel = channel_[out];
  messages_[channel.first + channel.offered].offer = reach;
  if (hold) stage_[s].held[stage_[s].held_count++] = {out, channel.offered};
  ++channel.offered;
  pass_messages(out);
}

// Posts the receives of the passes up to the next one after which the stage exchanges again.
void Builder::post(std::uint32_t s, Reach reach) {
  Stage& stage = stage_[s];
  const auto list = ops(s);
  bool more = true;
  while (more && stage.next_post < per_stage_) {
    const std::uint32_t i = stage.next_post++;
    const Exchange mode = exchange(s, i);
    more = mode == Exchange::flowing || mode == Exchange::pair_opens;
    const std::uint32_t in = incoming(s, list[i]);
    if (in == none) continue;
    Channel& channel = channel_[in];
    messages_[channel.first + channel.posted].post = reach;
    ++channel.posted;
    pass_messages(in);
  }
}

// Adds the messages that both ends are ready for.
void Builder::pass_messages(std::uint32_t number) {
  Channel& channel = channel_[number];
  while (channel.sent < std::min(channel.offered, channel.posted)) {
    Message& message = messages_[channel.first + channel.sent];
    ++channel.sent;
    Waits waits;
    waits.add(message.offer);
    waits.add(message.post);
    const PipelineInterference& classes = costs_.interference;
    message.send = index(tasks_.add({channel.send,
                                     channel.work,
                                     channel.send_label,
                                     one_task_a_message_ ? std::uint8_t{0} : classes.send},
                                    waits));
    if (!one_task_a_message_) {
      message.receive = index(tasks_.add(
          {channel.receive, channel.work, channel.receive_label, classes.receive}, waits));
    }
    wake(channel.from);
    wake(channel.to);
  }
}

void Builder::gather_parameters(std::uint32_t s, std::uint32_t after) {
  for (std::uint32_t c = 0; c < chunks_; ++c) {
    const Picoseconds work = to_picoseconds(costs_.stages[s].chunks[c].parameter_gather);
    if (work == 0) continue;
    Waits waits;
    waits.add(after);
    gathered_[std::size_t{s} * chunks_ + c] = index(collective(
        s, work, {PipelineTask::parameter_gather, static_cast<std::uint8_t>(c), 0}, waits));
  }
}

// What follows the passes, on all stages.
void Builder::finish() {
  std::vector<std::vector<TaskId>> done(stages_);  // the stage's gradients are complete and summed
  for (std::uint32_t s = 0; s < stages_; ++s) {
    Waits passes;
    passes.add(stage_[s].last);
    passes.add(held_sends(s));
    done[s].assign(std::span<const TaskId>(passes).begin(), std::span<const TaskId>(passes).end());
    for (std::uint32_t c = 0; c < chunks_; ++c) {
      const Picoseconds sync = to_picoseconds(costs_.stages[s].chunks[c].gradient_sync);
      if (sync == 0) continue;
      if (costs_.overlap_gradient_sync) {
        done[s].push_back(tasks_.last_in_lane(out_.stages[s].collective));
        break;
      }
      done[s].push_back(collective(
          s, sync, {PipelineTask::gradient_sync, static_cast<std::uint8_t>(c), 0}, passes));
    }
  }
  const Picoseconds embedding = to_picoseconds(costs_.embedding_sync);
  if (stages_ > 1 && embedding > 0) {
    std::vector<TaskId> both = done.front();
    both.insert(both.end(), done.back().begin(), done.back().end());
    for (const std::uint32_t s : {0U, stages_ - 1}) {
      done[s].push_back(collective(s, embedding, {PipelineTask::embedding_sync}, both));
    }
  }
  if (costs_.global_norm) {
    std::vector<TaskId> all;
    for (const auto& list : done) all.insert(all.end(), list.begin(), list.end());
    const std::array<TaskId, 1> met{collective(0, 0, {PipelineTask::global_norm}, all)};
    const Picoseconds norm = to_picoseconds(costs_.global_norm_seconds);
    for (std::uint32_t s = 0; s < stages_; ++s) {
      done[s].push_back(collective(s, norm, {PipelineTask::global_norm}, met));
    }
  }
  for (std::uint32_t s = 0; s < stages_; ++s) {
    const TaskId updated = tasks_.add({out_.stages[s].compute,
                                       to_picoseconds(costs_.stages[s].optimizer),
                                       pack({PipelineTask::optimizer}),
                                       costs_.interference.compute},
                                      done[s]);
    if (!costs_.overlap_parameter_gather) gather_parameters(s, index(updated));
  }
}

PipelineProgram Builder::build() {
  check();
  time_passes();
  if (host_ == HostLane::where_it_binds && out_.has_host) out_.has_host = host_binds();
  add_lanes();
  set_channels();
  reserve();
  set_stages();
  if (costs_.overlap_parameter_gather) {
    for (std::uint32_t s = 0; s < stages_; ++s) gather_parameters(s, none);
  }
  // The order in which stages are looked at changes the ids of tasks but neither what they wait for
  // nor the order within a lane.
  while (!awake_.empty()) {
    const std::uint32_t s = awake_.back();
    awake_.pop_back();
    is_awake_[s] = 0;
    advance(s);
  }
  for (const Stage& stage : stage_) {
    require(stage.next == per_stage_, "stages of a pipeline wait for each other");
  }
  finish();
  out_.program = tasks_.build();
  return std::move(out_);
}

}  // namespace

PipelineProgram build_pipeline(const PipelineOrder& schedule,
                               const PipelineCosts& costs,
                               HostLane host) {
  return Builder(schedule, costs, host).build();
}

}  // namespace stepsight
