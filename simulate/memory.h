// What one GPU holds at the fullest moment of a step, found by walking the step: states by
// precision and share, activations as forward makes them and backward lets them go, gradients as
// they come, buckets, gathered units and the loss's tensors.
//
// Two figures that are not the same: `peak` is what the framework's allocator has given out at most
// (torch.cuda.max_memory_allocated); `needed` is what the card must have for it: the CUDA context,
// communicators and what the allocator cannot use come on top.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/profile.h"
#include "model/scenario.h"
#include "model/transformer.h"

namespace stepsight {

// Bytes at one moment, by what they are.
struct MemoryParts {
  double parameters = 0;
  double optimizer = 0;
  double gradients = 0;
  double activations = 0;    // kept from forward for backward
  double temporaries = 0;    // the loss's tensors, gradients of activations, scratch of the update
  double communication = 0;  // buckets, gathered parameters, gradients on their way to be scattered
  double workspace = 0;      // of cuBLAS

  [[nodiscard]] double sum() const {
    return parameters + optimizer + gradients + activations + temporaries + communication +
           workspace;
  }
};

struct MemoryPart {
  std::string_view name;
  double MemoryParts::*bytes;
};
inline constexpr std::array<MemoryPart, 7> memory_parts{{
    {"parameters", &MemoryParts::parameters},
    {"optimizer", &MemoryParts::optimizer},
    {"gradients", &MemoryParts::gradients},
    {"activations", &MemoryParts::activations},
    {"temporaries", &MemoryParts::temporaries},
    {"communication", &MemoryParts::communication},
    {"workspace", &MemoryParts::workspace},
}};
// The part that is largest.
const MemoryPart& largest_part(const MemoryParts& parts);

// When the step is fullest.
enum class MemoryMoment : std::uint8_t { forward, loss, backward, end_of_backward, update };
inline constexpr std::array<std::string_view, 5> memory_moment_names{
    "forward", "loss", "backward", "end of backward", "update"};

// A change that needs less memory.
enum class RemedyKind : std::uint8_t { smaller_batch, recompute, shard, more_gpus };
inline constexpr std::array<std::string_view, 4> remedy_names{
    "smaller-batch", "recompute", "shard", "more-gpus"};
struct Remedy {
  RemedyKind kind = RemedyKind::smaller_batch;
  std::int64_t value = 0;  // sequences of a micro-step, or GPUs that share all states (FSDP)
  double needed = 0;       // bytes on a card with it
  bool fits = false;
};

struct Memory {
  // States that each GPU holds, at most.
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // kept when forward is done
  double buckets = 0;      // DDP's copies of the gradients
  MemoryParts at_peak;
  MemoryMoment moment = MemoryMoment::loss;
  double peak = 0;     // bytes given out at most: the sum of at_peak
  double reserve = 0;  // context, communicators and fragmentation
  double needed = 0;   // peak + reserve
  double host = 0;     // bytes of the machine's memory for each GPU (Parallel::offload)
  bool fits = true;
  std::int64_t stage = 0;          // of the pipeline, from 0: the one that needs most
  std::int64_t largest_batch = 0;  // sequences of a micro-step that fit; 0 when none does
  std::vector<Remedy> remedies;    // where it does not fit: those that help, nearest first
};

// `synced`: DDP copies gradients into buckets. Precondition: violations(scenario) is empty, `work`
// is step_work(scenario).
Memory memory_of(const StepWork& work,
                 const Scenario& scenario,
                 const GpuProfile& gpu,
                 bool synced);

// Bytes an element of a parameter's states takes on a rank that holds all of it.
struct StateWidths {
  double parameter = 0;
  double gradient = 0;  // as it is held between backward and update
  double optimizer = 0;
};
StateWidths state_widths(const Scenario& scenario);

// The same without the largest batch and the remedies, which ask many times.
Memory peak_memory_of(const StepWork& work,
                      const Scenario& scenario,
                      const GpuProfile& gpu,
                      bool synced);

}  // namespace stepsight
