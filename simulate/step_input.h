// What a step's time is made of, and how far each part of it may be moved.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepsight {

// What a prediction is made of. Within one of these errors are taken to be common: a card whose
// products are slower than thought is so at every shape.
enum class StepInput : std::uint8_t {
  products,
  attention,
  convolutions,
  memory,
  host,
  link_latency,
  link_bandwidth,
  overlap,
  copies,
  power,
  host_memory,
};
inline constexpr std::array<std::string_view, 11> step_input_names{
    "matrix products",
    "attention",
    "convolutions",
    "memory-bound passes",
    "host issue",
    "link latency",
    "link bandwidth",
    "compute slowed by communication",
    "host copies",
    "power limit",
    "the host's update"};
inline constexpr std::size_t step_input_count = step_input_names.size();
constexpr std::size_t index(StepInput input) {
  return static_cast<std::size_t>(input);
}

// Of the time (of rates while both run, for overlap; of the energy, for power) that an input stands
// for: its natural logarithm's change. All 0: the prediction itself.
using InputChanges = std::array<double, step_input_count>;

// Natural logarithm of a time that is nothing beside every other: a message, a copy or a slow-down
// taken away.
inline constexpr double taken_away = -60;

}  // namespace stepsight
