// What is kept of a profiler trace (PyTorch's Chrome-trace JSON) for one training step: plain
// records in the order of the file, read by model/io/trace_file.h, made into a step by
// model/traced_step.h. Times are microseconds on the trace's own clock.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/dtype.h"
#include "model/operators.h"

namespace stepsight {

// What bounds a kernel, as far as its name says.
enum class KernelKind : std::uint8_t { product, attention, memory, copy_to_host, copy_from_host };

struct TraceKernel {
  double start = 0;
  double duration = 0;
  std::uint64_t correlation = 0;  // names the call that launched it
  std::uint64_t external_id = 0;  // names the operator that made that call; 0 = not said
  KernelKind kind = KernelKind::memory;
  Dtype dtype = Dtype::bf16;  // of a product's factors
};

// A call of the CUDA runtime or driver that put work into a stream.
struct TraceLaunch {
  double start = 0;
  double duration = 0;
  std::uint64_t correlation = 0;
  std::uint64_t external_id = 0;
  std::int64_t thread = 0;
};

struct TraceSpan {
  double start = 0;
  double duration = 0;
  std::int64_t thread = 0;
};

// An operator whose shapes say what its kernels compute. A pass of no rows is over all parameters.
struct TraceOperator {
  std::uint64_t external_id = 0;
  Work work;
};

// A gradient handed to its parameter (the AccumulateGrad node that ends each branch of backward).
struct TraceGradient {
  double start = 0;
  std::int64_t elements = 0;   // 0: shapes were not recorded
  std::optional<Dtype> dtype;  // empty: types were not recorded
};

// What ties a node of backward to the operator of forward that it differentiates.
struct TraceSequence {
  std::uint64_t number = 0;
  double start = 0;
};

// Stretches that the user's loop or the optimizer marked by name.
struct TraceMark {
  enum class Kind : std::uint8_t { step, optimizer, zero_grad };
  Kind kind = Kind::step;
  std::string name;  // "ProfilerStep#12"
  TraceSpan span;
};

struct TraceEvents {
  std::vector<TraceKernel> kernels;
  std::vector<TraceLaunch> launches;
  std::vector<TraceSpan> waits;     // the host waits for the GPU
  std::vector<TraceSpan> backward;  // nodes of the autograd graph, evaluated
  std::vector<TraceOperator> operators;
  std::vector<std::uint64_t> casts;  // external ids of copies that change a number format, sorted
  std::vector<TraceGradient> gradients;
  std::vector<TraceSequence> forward_sequence;   // operators of forward
  std::vector<TraceSequence> backward_sequence;  // nodes of backward, evaluated
  std::vector<TraceMark> marks;                  // of the optimizer
};

// Which part of a trace is the step.
struct TraceWindow {
  double begin = 0;  // of the host
  double end = 0;
  bool whole = true;  // the file holds one step and nothing else
  std::string name;   // "ProfilerStep#12", empty for a whole file
  int steps = 1;      // that the file holds
};

// What a first look over a trace finds.
struct TraceSurvey {
  std::string gpu;  // as the driver calls the card; empty where the file does not say
  int multiprocessors = 0;
  std::int64_t rank = 0;  // of distributedInfo
  std::int64_t world = 1;
  std::int64_t kernels = 0;
  std::int64_t collectives = 0;       // kernels of NCCL and its like
  std::int64_t operators = 0;         // events of the host
  std::vector<std::int64_t> devices;  // that ran kernels, each once
  double begin = 0;                   // of the host's operators
  double end = 0;
  std::vector<TraceMark> marks;
};

// The step that stands for all: of the steps that ProfilerStep marks the one of median length,
// without the first where there are three or more (it pays for warm-up); with updates in only some
// of the marked steps, the micro-steps up to one; without marks, of several updates of one
// optimizer the stretch between two of them; else everything.
TraceWindow steady_window(const TraceSurvey& survey);

}  // namespace stepsight
