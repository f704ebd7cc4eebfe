// A training step of one GPU as a profiler saw it: every kernel with its time, what the host did to
// issue it, which part of the step it belongs to, and when each gradient was complete. The
// simulator runs it like a step that was built from a model (simulate/traced_program.h).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/trace_events.h"

namespace stepsight {

enum class StepPart : std::uint8_t { forward, backward, optimizer };

inline constexpr std::uint32_t no_operator = 0xffffffff;

struct TracedKernel {
  double seconds = 0;  // on the GPU, without what overlapped with kernels that started earlier
  double issue_seconds = 0;  // the host's, since the launch before; under the profiler
  StepPart part = StepPart::forward;
  KernelKind kind = KernelKind::memory;
  Dtype dtype = Dtype::bf16;         // of a product's factors
  std::uint32_t work = no_operator;  // of TracedStep::works
  bool host_waits = false;           // the host waited for the GPU before it issued this
};

// A gradient that is complete once the first `after` kernels have run.
struct TracedGradient {
  std::uint32_t after = 0;
  std::int64_t elements = 0;  // 0: not recorded
  double seconds = 0;         // of backward's kernels since the gradient before
  // The first kernel of the operator of forward that used the parameter, by the autograd sequence
  // number of the node before AccumulateGrad; backward_begin or later where that is not known (not
  // recorded, or the layer was run again in backward).
  std::uint32_t first_use = no_operator;
};

// What the host issued in one part of the step.
struct IssueCount {
  double seconds = 0;          // under the profiler
  std::int64_t operators = 0;  // that launched kernels, casts apart
  std::int64_t casts = 0;
};

struct TracedStep {
  std::string file;
  std::string name;  // "ProfilerStep#12", empty where the file is one step
  int steps = 1;     // that the file holds
  std::string gpu;   // as the driver calls the card; empty where the file does not say
  int multiprocessors = 0;

  std::vector<TracedKernel> kernels;  // in the order in which the GPU started them
  std::vector<Work> works;
  // Of the last backward: what data parallelism exchanges. In the order in which they were ready.
  std::vector<TracedGradient> gradients;
  bool sizes_recorded = false;         // every gradient's elements are known
  Dtype gradient_dtype = Dtype::fp32;  // fp32 where types were not recorded
  std::uint32_t forward_begin = 0;     // of the forward that the last backward follows
  std::uint32_t backward_begin = 0;    // first kernel of the last backward
  std::uint32_t backward_end = 0;      // kernels issued before the last backward was over
  int micro_steps = 1;                 // backward passes that gave the same gradients
  double tail_seconds = 0;             // the host's after its last launch, under the profiler
  bool tail_waits = false;             // ... and after a wait for the GPU
  std::array<IssueCount, 3> issue{};   // by StepPart; the tail counts to the optimizer
  std::int64_t other_streams = 0;      // kernels that wholly overlapped with others
};

// Makes the step of a trace.
//
// A launch belongs to backward when an autograd node was being evaluated in its thread, to forward
// when a backward is still to come, else to the optimizer (clipping and scaling between backward
// and Optimizer.step included). A gradient is ready when its AccumulateGrad node ran: the kernels
// issued until then complete it. A wait for the GPU counts as no issue time; what the host issues
// next starts when the GPU is done.
//
// UserError when there is no backward, no gradient or no launch to go by.
TracedStep traced_step(const std::string& file,
                       const TraceSurvey& survey,
                       const TraceWindow& window,
                       TraceEvents events);

// Where sizes were not recorded: `elements` in all, shared out as backward's time was spent between
// one gradient and the next, at least one each.
void share_out_parameters(TracedStep& step, std::int64_t elements);

std::int64_t parameter_count(const TracedStep& step);

}  // namespace stepsight
