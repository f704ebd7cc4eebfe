// What a step's tasks stand for, and what they sum up to: kept with the priced step and with the
// program that is built from it.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace stepsight {

enum class Phase : std::uint8_t { forward, backward, gradient_sync, optimizer };
enum class WorkKind : std::uint8_t { gemm, attention, memory, optimizer, sync_copy, communication };
inline constexpr std::size_t work_kind_count = 6;

// What a task stands for; Task::label indexes StepTotals::labels.
struct TaskLabel {
  std::string_view text;
  Phase phase = Phase::forward;
  WorkKind kind = WorkKind::memory;

  friend constexpr bool operator==(const TaskLabel&, const TaskLabel&) = default;
};

// Of one step.
struct StepTotals {
  std::vector<TaskLabel> labels;                         // each once
  std::array<double, work_kind_count> kernel_seconds{};  // by WorkKind, each at full rate
  double clock = 1;               // of the highest, where the power limit lowers it
  double host_seconds = 0;        // issue time
  double unmeasured_seconds = 0;  // kernels whose shape is far from every measured point
  double message_bytes = 0;       // gradients and gathered parameters

  std::uint32_t last_label = 0;  // that label() returned

  // The label's index, new or known.
  std::uint32_t label(std::string_view text, Phase phase, WorkKind kind);
};

}  // namespace stepsight
