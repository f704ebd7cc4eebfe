// The turns that sharded units take (FSDP): which task the gather, the compute and the scatter of
// the next unit wait for. Forward and backward each begin anew; units come in the order in which
// they run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulate/program.h"

namespace stepsight {

class UnitQueue {
 public:
  explicit UnitQueue(std::int64_t prefetch) : prefetch_(static_cast<std::size_t>(prefetch)) {}

  void begin_phase(TaskId last_computed) {
    gathered_.clear();
    entered_.clear();
    phase_begin_ = last_computed;
  }

  // A unit's parameters are gathered once the unit `prefetch` places before it begins to compute,
  // and no earlier: that bounds the memory of gathered parameters (torch's FSDP2 waits for the copy
  // out of the gather before). Without prefetch everything before has to be computed.
  [[nodiscard]] TaskId gather_after(TaskId last_computed) const {
    if (prefetch_ == 0) return last_computed;
    const std::size_t place = gathered_.size();
    return place >= prefetch_ ? entered_[place - prefetch_] : phase_begin_;
  }
  void gathered(TaskId message) { gathered_.push_back(message); }

  // The gather that the next unit to compute waits for.
  [[nodiscard]] TaskId next_gather() const { return gathered_[entered_.size()]; }
  void entered(TaskId first) { entered_.push_back(first); }

  // There is one buffer: it is free when the scatter before is done. Nothing before a backward's
  // first.
  std::optional<TaskId> last_scatter;

 private:
  std::size_t prefetch_;
  std::vector<TaskId> gathered_, entered_;
  TaskId phase_begin_{};
};

}  // namespace stepsight
