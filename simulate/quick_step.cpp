#include "simulate/quick_step.h"

#include <algorithm>
#include <limits>
#include <span>

#include "simulate/step_program.h"

namespace stepsight {

namespace {

constexpr Picoseconds never = std::numeric_limits<Picoseconds>::max();

// What runs on a stream, with the engine's bookkeeping of rates.
struct Running {
  bool active = false;
  std::uint8_t interference = 0;
  double rate = 0;
  double remaining = 0;
  Picoseconds work = 0, since = 0, end = never;

  void start(Picoseconds length, std::uint8_t its_class) {
    active = true;
    interference = its_class;
    rate = 0;
    work = length;
  }
  // As Contention::set_rate().
  void set_rate(double next, Picoseconds now) {
    if (next == rate) return;
    const bool fresh = rate == 0;
    const double done = fresh ? 0.0 : rate * static_cast<double>(now - since);
    remaining = std::max(0.0, (fresh ? static_cast<double>(work) : remaining) - done);
    since = now;
    rate = next;
    end = now + (fresh && next == 1 ? work : static_cast<Picoseconds>(remaining / next + 0.5));
  }
};

struct Message {
  Picoseconds ready = 0, work = 0;
  Picoseconds end = never;
};

// Kernels one after the other that nothing disturbs, as one: issued from `host` on behind a kernel
// that ends at `end`, the last of them ends at max(end + kernels, host + reach).
struct Stretch {
  Picoseconds issue = 0;
  Picoseconds kernels = 0;
  Picoseconds reach = -longest_step;  // of no kernel

  void add(const Timed& op) {
    issue += op.issue;
    kernels += op.kernel;
    reach = std::max(reach + op.kernel, issue + op.kernel);
  }
  static Stretch of(std::span<const Timed> list) {
    Stretch out;
    for (const Timed& op : list) out.add(op);
    return out;
  }
};

class Walk {
 public:
  Walk(const StepParts& parts, const TimedStep& timed, const Machine& machine)
      : work_(parts.work),
        scenario_(parts.scenario),
        timed_(timed),
        machine_(machine),
        message_class_(parts.links.gradients.kind == Link::Kind::loopback ? copy_class
                                                                          : collective_class),
        block_forward_(Stretch::of(timed.block.forward)) {}

  QuickStep run() {
    step();
    if (next_is_the_same()) {
      counted_.step = end_ - first_kernel_;
      return counted_;
    }
    const Picoseconds first = end_;
    counted_ = {};
    step();
    counted_.step = end_ - first;
    return counted_;
  }

 private:
  void issue(const Timed& op) { host_ += op.issue; }
  // When what the host has issued by now starts, if nothing else keeps it until after `others`.
  Picoseconds issued_after(Picoseconds others) {
    host_waited_for_ = host_waited_for_ || host_ > others;
    return std::max(host_, others);
  }
  // The step after this one: as long from its first kernel on, where nothing has waited for the
  // host since this one's. Each kernel of it is issued as much later as the host took for this
  // step, and may start as much later as the GPU took.
  [[nodiscard]] bool next_is_the_same() const {
    return !host_waited_for_ && host_ <= end_ - first_kernel_ &&
           std::max(now_, exchange_end_) <= end_;
  }
  // No message travels, and none is on its way: most of forward, and of backward on a fast link.
  [[nodiscard]] bool is_quiet() const {
    return !message_.active && next_message_ == messages_.size();
  }
  void compute(const Timed& op) {
    issue(op);
    const Picoseconds start = issued_after(std::max(compute_end_, awaited_));
    if (!started_ && op.kernel > 0) {
      started_ = true;
      first_kernel_ = start;
      host_waited_for_ = false;
    }
    awaited_ = 0;
    if (is_quiet()) {
      run_quietly(start, op.kernel);
    } else {
      kernel(start, op.kernel, class_of(op));
    }
  }
  void run_quietly(Picoseconds start, Picoseconds length) {
    now_ = compute_end_ = std::max(now_, start) + length;
    counted_.busy += length;
  }
  void compute_all(const Stretch& all);
  void kernel(Picoseconds start, Picoseconds length, std::uint8_t its_class);
  bool ends_under_message(Picoseconds length, std::uint8_t its_class);
  void settle();
  void pass_time(Picoseconds until);
  void count(Picoseconds until);
  void idle_until(Picoseconds until);
  std::size_t travel(const Timed& message, Picoseconds after);
  Picoseconds end_of(std::size_t message);
  Picoseconds end_of_messages() { return messages_.empty() ? 0 : end_of(messages_.size() - 1); }
  void exchange(const Timed& message, bool stops_host = false);
  template <typename Then>
  void operators(std::span<const Timed> list, std::span<const TimedExchange> exchanges, Then then);

  void forward();
  // What becomes of a micro-step's gradients.
  struct Exchanged {
    bool synced = false;
    bool accumulated = false;
  };
  void backward(Exchanged what);
  void blocks_backward(const TimedStage& stage, Exchanged what, std::int64_t count);
  void backward(const TimedStage& stage, Exchanged what);
  void backward(const TimedStage& stage, Exchanged what, std::span<const Stretch> stretches);
  [[nodiscard]] std::vector<Stretch> stretches_of(const TimedStage& stage, Exchanged what) const;
  template <typename Each>
  void each_of_gradient(const TimedStage& stage,
                        std::size_t i,
                        Exchanged what,
                        const Each& each) const;
  void gradient_ready(Exchanged what);
  void send_bucket(Picoseconds copied);
  void optimizer();
  void step();

  const StepWork& work_;
  const Scenario& scenario_;
  const TimedStep& timed_;
  const Machine& machine_;
  const std::uint8_t message_class_;
  const Stretch block_forward_;

  Picoseconds host_ = 0;
  bool started_ = false;          // some kernel
  bool host_waited_for_ = false;  // since the first one
  Picoseconds first_kernel_ = 0;  // its start
  Picoseconds now_ = 0;           // up to which the streams have been followed
  Picoseconds compute_end_ = 0;   // of the last kernel
  Picoseconds awaited_ = 0;       // what the next kernel waits for besides its issue
  Picoseconds exchange_end_ = 0;
  Running compute_, message_;
  std::vector<Message> messages_;
  std::size_t next_message_ = 0;  // runs, or is the next to
  bool exchanging_ = false;       // a message that compute waits for runs

  std::size_t next_tensor_ = 0, next_bucket_ = 0, waiting_ = 0;
  std::vector<std::size_t> sent_;
  Picoseconds last_held_ = 0;  // end of the last copy of the buckets that wait for backward
  bool any_sent_ = false;
  Picoseconds end_ = 0;  // of the last step
  QuickStep counted_;    // of the step that is walked
};

// Starts the message that is due now, and lets the rates follow what runs.
void Walk::settle() {
  while (!message_.active && next_message_ < messages_.size() &&
         messages_[next_message_].ready <= now_) {
    Message& next = messages_[next_message_];
    if (next.work == 0) {
      next.end = now_;
      ++next_message_;
      continue;
    }
    message_.start(next.work, message_class_);
  }
  if (compute_.active) {
    compute_.set_rate(
        message_.active ? machine_.slow_down[compute_.interference][message_.interference] : 1.0,
        now_);
  }
  if (message_.active) {
    message_.set_rate(
        compute_.active ? machine_.slow_down[message_.interference][compute_.interference] : 1.0,
        now_);
  }
}

void Walk::count(Picoseconds until) {
  const Picoseconds passed = until - now_;
  if (passed <= 0) return;
  if (compute_.active) counted_.busy += passed;
  if (!message_.active && !exchanging_) return;
  counted_.communication += passed;
  if (!compute_.active) counted_.exposed += passed;
}

// To the next end or start of a message, at most to `until`, where it ends what ends then.
void Walk::pass_time(Picoseconds until) {
  Picoseconds next = until;
  if (message_.active) {
    next = std::min(next, message_.end);
  } else if (next_message_ < messages_.size()) {
    next = std::min(next, std::max(now_, messages_[next_message_].ready));
  }
  count(next);
  now_ = next;
  if (message_.active && message_.end == now_) {
    message_.active = false;
    messages_[next_message_++].end = now_;
  }
}

// No kernel runs until then.
void Walk::idle_until(Picoseconds until) {
  while (now_ < until) {
    settle();
    pass_time(until);
  }
}

// The rule while gradients travel: the message that runs goes on for longer than the kernel that
// starts now. The same numbers as kernel()'s, with less to look at; false where that is not so.
bool Walk::ends_under_message(Picoseconds length, std::uint8_t its_class) {
  if (!message_.active) return false;
  message_.set_rate(machine_.slow_down[message_.interference][its_class], now_);
  const double its_rate = machine_.slow_down[its_class][message_.interference];
  const Picoseconds takes =
      its_rate == 1 ? length
                    : static_cast<Picoseconds>(static_cast<double>(length) / its_rate + 0.5);
  if (now_ + takes >= message_.end) return false;
  counted_.busy += takes;
  counted_.communication += takes;
  now_ = compute_end_ = now_ + takes;
  return true;
}

void Walk::kernel(Picoseconds start, Picoseconds length, std::uint8_t its_class) {
  if (now_ < start) idle_until(start);
  if (is_quiet()) {
    run_quietly(now_, length);
    return;
  }
  if (length > 0) {
    if (ends_under_message(length, its_class)) return;
    compute_.start(length, its_class);
    while (true) {
      settle();
      if (compute_.end == now_) break;
      pass_time(compute_.end);
      if (now_ == compute_.end) break;
    }
    compute_.active = false;
  }
  compute_end_ = now_;
}

// Precondition: is_quiet().
void Walk::compute_all(const Stretch& all) {
  const Picoseconds before = std::max({now_, compute_end_, awaited_});
  awaited_ = 0;
  host_waited_for_ = host_waited_for_ || !started_ || host_ + all.reach > before + all.kernels;
  started_ = true;
  now_ = compute_end_ = std::max(before + all.kernels, host_ + all.reach);
  host_ += all.issue;
  counted_.busy += all.kernels;
}

std::size_t Walk::travel(const Timed& message, Picoseconds after) {
  issue(message);
  any_sent_ = true;
  messages_.push_back({issued_after(after), message.kernel});
  return messages_.size() - 1;
}

// Nothing computes before it, or the answer were asked later.
Picoseconds Walk::end_of(std::size_t message) {
  while (messages_[message].end == never) {
    settle();
    if (messages_[message].end != never) break;
    pass_time(never);
  }
  return messages_[message].end;
}

void Walk::exchange(const Timed& message, bool stops_host) {
  if (stops_host) host_ = std::max(host_, compute_end_);
  issue(message);
  const Picoseconds start = issued_after(std::max(compute_end_, exchange_end_));
  idle_until(start);
  exchange_end_ = start + message.kernel;
  exchanging_ = true;
  idle_until(exchange_end_);
  exchanging_ = false;
  awaited_ = std::max(awaited_, exchange_end_);
}

template <typename Then>
void Walk::operators(std::span<const Timed> list,
                     std::span<const TimedExchange> exchanges,
                     Then then) {
  std::size_t next = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    while (next < exchanges.size() && exchanges[next].before == i) {
      exchange(exchanges[next].message, exchanges[next].stops_host);
      ++next;
    }
    if (i == list.size()) break;
    compute(list[i]);
    then(i);
  }
}

void Walk::forward() {
  const auto nothing = [](std::size_t) {};
  operators(timed_.embedding.forward, timed_.embedding.forward_exchanges, nothing);
  for (std::int64_t i = 0; i < work_.blocks; ++i) {
    if (is_quiet() && timed_.block.forward_exchanges.empty()) {
      compute_all(block_forward_);
    } else {
      operators(timed_.block.forward, timed_.block.forward_exchanges, nothing);
    }
  }
  operators(timed_.head.forward, timed_.head.forward_exchanges, nothing);
}

void Walk::send_bucket(Picoseconds copied) {
  sent_.push_back(travel(timed_.bucket[next_bucket_], copied));
  ++next_bucket_;
}

// The kernels that a complete gradient brings with it.
template <typename Each>
void Walk::each_of_gradient(const TimedStage& stage,
                            std::size_t i,
                            Exchanged what,
                            const Each& each) const {
  if (what.accumulated && !stage.accumulate.empty()) each(stage.accumulate[i]);
  if (what.synced) each(stage.copy[i]);
}

// Its bucket goes, where it was the last in it.
void Walk::gradient_ready(Exchanged what) {
  if (what.synced && timed_.reduces(next_tensor_)) {
    const Bucket& bucket = timed_.buckets[next_bucket_ + waiting_];
    if (next_tensor_ == bucket.last_tensor) {
      if (scenario_.parallel.overlap) {
        send_bucket(compute_end_);
      } else {
        ++waiting_;
        last_held_ = compute_end_;
      }
    }
  }
  ++next_tensor_;
}

// Backward up to each gradient and, last, behind them.
std::vector<Stretch> Walk::stretches_of(const TimedStage& stage, Exchanged what) const {
  std::vector<Stretch> out(stage.ready.size() + 1);
  std::size_t op = 0;
  for (std::size_t i = 0; i < stage.ready.size(); ++i) {
    for (; op <= stage.ready[i].after; ++op) out[i].add(stage.backward[op]);
    each_of_gradient(stage, i, what, [&](const Timed& kernel) { out[i].add(kernel); });
  }
  for (; op < stage.backward.size(); ++op) out.back().add(stage.backward[op]);
  return out;
}

void Walk::backward(const TimedStage& stage, Exchanged what) {
  std::size_t ready = 0;
  operators(stage.backward, stage.backward_exchanges, [&](std::size_t op) {
    for (; ready < stage.ready.size() && stage.ready[ready].after == op; ++ready) {
      each_of_gradient(stage, ready, what, [&](const Timed& kernel) { compute(kernel); });
      gradient_ready(what);
    }
  });
}

// The same of a stage without messages of its own, which runs many times.
void Walk::backward(const TimedStage& stage, Exchanged what, std::span<const Stretch> stretches) {
  std::size_t op = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const bool last = i == stage.ready.size();
    const std::size_t end = last ? stage.backward.size() : stage.ready[i].after + 1;
    if (is_quiet()) {
      compute_all(stretches[i]);
      op = std::max(op, end);
    } else {
      for (; op < end; ++op) compute(stage.backward[op]);
      if (!last) each_of_gradient(stage, i, what, [&](const Timed& kernel) { compute(kernel); });
    }
    if (!last) gradient_ready(what);
  }
}

void Walk::blocks_backward(const TimedStage& stage, Exchanged what, std::int64_t count) {
  const std::vector<Stretch> stretches = stretches_of(stage, what);
  for (std::int64_t i = 0; i < count; ++i) {
    if (stage.backward_exchanges.empty()) {
      backward(stage, what, stretches);
    } else {
      backward(stage, what);
    }
  }
}

void Walk::backward(Exchanged what) {
  next_tensor_ = next_bucket_ = 0;
  sent_.clear();
  backward(timed_.head, what);
  blocks_backward(timed_.kept_block, what, work_.kept_blocks);
  blocks_backward(timed_.block, what, work_.blocks - work_.kept_blocks);
  backward(timed_.embedding, what);
  const std::size_t held = waiting_;
  waiting_ = 0;
  for (std::size_t i = 0; i < held; ++i) send_bucket(last_held_);
  if (!what.synced) return;
  for (std::size_t i = 0; i < timed_.copy_back.size(); ++i) {
    awaited_ = std::max(awaited_, end_of(sent_[i]));
    compute(timed_.copy_back[i]);
  }
}

void Walk::optimizer() {
  const Timed& update = timed_.optimizer;
  if (timed_.partial_gradients.kernel > 0) {
    exchange(timed_.partial_gradients);
    compute({0, 0, 0});
  }
  const Picoseconds sent = any_sent_ ? end_of_messages() : 0;
  if (work_.optimizer_waits) host_ = std::max(host_, any_sent_ ? sent : compute_end_);
  issue(update);
  kernel(issued_after(std::max({compute_end_, awaited_, sent})), update.kernel, class_of(update));
  awaited_ = 0;
  if (timed_.gather_updated.kernel > 0 || timed_.gather_updated.issue > 0) {
    travel(timed_.gather_updated, compute_end_);
    kernel(std::max(compute_end_, end_of_messages()), 0, 0);
  }
  end_ = compute_end_;
}

void Walk::step() {
  // Messages of earlier steps have ended: the update waits for them.
  messages_.clear();
  next_message_ = 0;
  compute(timed_.begin);
  const std::int64_t micro_steps = scenario_.training.accumulation;
  for (std::int64_t i = 0; i < micro_steps; ++i) {
    const bool last = i + 1 == micro_steps;
    const bool sync = !timed_.buckets.empty() && (last || scenario_.parallel.sync_each_micro_step);
    forward();
    backward({sync, i > 0 || scenario_.training.precision.wide_sums});
  }
  optimizer();
}

bool blocks_only(const std::vector<TimedExchange>& exchanges) {
  return std::ranges::all_of(exchanges, [](const TimedExchange& e) { return e.beside == 0; });
}

bool can_follow(const StepParts& parts, const TimedStep& timed) {
  if (parts.scenario.parallel.offload != Offload::none) return false;
  if (timed.units.count > 0 || parts.scenario.parallel.pipeline > 1) return false;
  for (const TimedStage* stage : {&timed.embedding, &timed.block, &timed.kept_block, &timed.head}) {
    if (!blocks_only(stage->forward_exchanges) || !blocks_only(stage->backward_exchanges)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<QuickStep> quick_step(const StepParts& parts,
                                    const TimedStep& timed,
                                    const Machine& machine) {
  if (!can_follow(parts, timed)) return std::nullopt;
  return Walk(parts, timed, machine).run();
}

}  // namespace stepsight
