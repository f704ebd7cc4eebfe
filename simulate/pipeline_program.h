// One step of a model in pipeline stages as a program for the engine. A stage stands for all GPUs
// that hold it (tensor, sequence, data parallelism): whoever calls says what a pass of a chunk
// takes there, and this file says who waits for whom.
//
// Lanes of a stage, one group of the engine each: a host that issues passes (only where issuing
// takes time), a compute stream, the two ends of each neighbour's messages (send and receive,
// activations onwards and gradients backwards), and a stream for collectives of the parameters.
//
// Passes. A pass starts after the pass before it, after its message, and after the host has issued
// everything before it; it ends, for whoever waits for it, no earlier than the host has issued it.
// The last pass of a chunk is cut into as many pieces as there are gradient buckets, each of which
// travels when its piece is done (where that is overlapped).
//
// Messages. A message is a send and a receive of the same length that start together: a task on
// either stage, where it slows and is slowed by what runs there. Where nothing does (it blocks, or
// its interference classes are 0) one task, on the sender's lane, stands for both.
//
//   overlapped: the message starts when its pass is done, and only the pass that needs it waits.
//
//   blocking: the message starts when its pass is done and the receiver has come to where it waits
//   for it, and neither computes until it has passed (NCCL's send and receive in one stream). As in
//   Megatron-LM (core/pipeline_parallel/schedules.py): without interleaving a stage that runs two
//   forwards, or two backwards, in a row sends before it posts the next receive, and exchanges both
//   at once where forward and backward alternate; with interleaving a stage exchanges all at once,
//   after each pass while the pipeline fills and drains, and after each pair of passes in between.
//
//   overlapped_in_between: overlapped while forward and backward alternate, blocking while the
//   pipeline fills and drains. Megatron-LM's interleaving with overlapped point-to-point
//   communication, unless its option for warm-up and flush is on, too.
//
// After the passes: gradient synchronisation where it was not overlapped, the all-reduce of a tied
// embedding between first and last stage, the gradients' norm over all stages, the optimizer, and
// the all-gather of ZeRO-1's parameters where the next step's forwards do not hide it.
#pragma once
#include <cstdint>
#include <vector>

#include "model/units.h"
#include "simulate/pipeline_schedule.h"
#include "simulate/program.h"

namespace stepsight {

enum class PipelineMessages : std::uint8_t { overlapped, blocking, overlapped_in_between };

// What one chunk of one stage takes. A pass of a micro-batch:
struct PipelineChunkCosts {
  Seconds forward;
  Seconds input_gradient;   // with what is computed again for it; a whole backward is this and
  Seconds weight_gradient;  // this, one after the other
  Seconds forward_issue;    // on the host; zero everywhere: no host is simulated
  Seconds input_gradient_issue;
  Seconds weight_gradient_issue;
  // Once a step, over the data-parallel group:
  Seconds gradient_sync;               // all-reduce, or ZeRO's reduce-scatter
  std::uint32_t gradient_buckets = 1;  // that the synchronisation is cut into, at least 1
  Seconds parameter_gather;            // ZeRO-1's all-gather of the new parameters
};

struct PipelineMessage {
  Bytes bytes;      // of one GPU; only reported
  Seconds seconds;  // of one micro-batch and chunk
};

struct PipelineStageCosts {
  std::vector<PipelineChunkCosts> chunks;
  PipelineMessage activations;  // to the next stage; the last stage's go to the first (interleaved)
  PipelineMessage gradients;    // to the stage before; the first stage's go to the last
  Seconds optimizer;
};

// Interference classes of the tasks (simulate/engine.h). The defaults are the classes of a step
// without a pipeline: 1 compute, 2 collectives.
struct PipelineInterference {
  std::uint8_t compute = 1;
  std::uint8_t send = 2;
  std::uint8_t receive = 2;
  std::uint8_t collective = 2;
};

struct PipelineCosts {
  std::vector<PipelineStageCosts> stages;
  PipelineMessages messages = PipelineMessages::blocking;
  // A blocking message also stops the host (Megatron-LM's batch_p2p_sync): it issues nothing ahead.
  bool messages_stop_host = false;
  bool overlap_gradient_sync = false;
  bool overlap_parameter_gather = false;  // with the first forwards of the next step
  Seconds
      embedding_sync;  // first and last stage, where they hold the same embedding; 0: they do not
  // Every optimizer waits for the gradients of all stages (clipping by the norm, loss scaling).
  bool global_norm = false;
  Seconds global_norm_seconds;
  PipelineInterference interference;
};

enum class PipelineTask : std::uint8_t {
  forward,
  backward,
  input_gradient,
  weight_gradient,
  issue,
  send_activations,
  receive_activations,
  send_gradients,
  receive_gradients,
  gradient_sync,
  embedding_sync,
  global_norm,
  optimizer,
  parameter_gather,
};

// What Task::label holds: 4 bits task, 6 bits chunk, 22 bits micro-batch (0 where it has none).
struct PipelineLabel {
  PipelineTask task = PipelineTask::forward;
  std::uint8_t chunk = 0;
  std::uint32_t micro_batch = 0;

  friend constexpr bool operator==(PipelineLabel, PipelineLabel) = default;
};
constexpr std::uint32_t pack(PipelineLabel label) {
  return static_cast<std::uint32_t>(label.task) << 28U |
         static_cast<std::uint32_t>(label.chunk) << 22U | label.micro_batch;
}
constexpr PipelineLabel unpack_pipeline_label(std::uint32_t label) {
  return {static_cast<PipelineTask>(label >> 28U),
          static_cast<std::uint8_t>(label >> 22U & 63U),
          label & ((1U << 22U) - 1)};
}

struct PipelineStageLanes {
  LaneId compute{};
  LaneId collective{};
  LaneId host{};                 // only with PipelineProgram::has_host
  LaneId send_activations{};     // the four only with PipelineProgram::has_messages
  LaneId receive_activations{};  // from the stage before
  LaneId send_gradients{}, receive_gradients{};
};

struct PipelineProgram {
  Program program;
  std::vector<PipelineStageLanes> stages;
  bool has_host = false;
  bool has_messages = false;
  double message_bytes = 0;  // of one GPU of each stage, sent in a step, all stages together
};

// Whether passes have tasks of the host. A host that nothing stops, and that has issued each pass
// before the stage can have computed those before it, delays nobody: a program without it takes
// exactly as long.
enum class HostLane : std::uint8_t { always, where_it_binds };

// std::logic_error when `costs` do not have the schedule's stages and chunks, no bucket, or a time
// that is negative or not a number; UserError when a time exceeds longest_step.
PipelineProgram build_pipeline(const PipelineOrder& schedule,
                               const PipelineCosts& costs,
                               HostLane host = HostLane::always);

}  // namespace stepsight
