// What the log of a training run says: the time of its steps, and facts beside them. Read by
// model/io/logs, summarised by model/steady_window.h, judged by simulate/diagnose.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepsight {

struct LoggedStep {
  std::int64_t index = 0;              // as the log counts it
  std::int64_t covers = 1;             // steps that `seconds` is the mean of
  double seconds = 0;                  // of one step; > 0 and finite
  std::optional<double> data_seconds;  // of these: waiting for the data loader
  std::optional<double> rate;          // samples or tokens a second, in StepLog::rate_unit
  std::optional<double> loss;
};

enum class RateUnit : std::uint8_t { none, samples, tokens };
enum class RateScope : std::uint8_t { unknown, whole_job, each_gpu };

// One part of a step as a framework's own timers print it.
struct LoggedPart {
  std::string name;    // "bwd_allreduce_microstep", "forward-backward"
  double seconds = 0;  // mean over the log
  double least = 0;    // over ranks, mean over the log; equal where only one rank prints
  double most = 0;
  std::int64_t count = 0;
};

// What the log says of the run beside times; empty where it does not.
struct LogFacts {
  std::optional<std::int64_t> gpus;
  std::optional<std::int64_t> gpu_batch;     // samples of a GPU in one micro-step
  std::optional<std::int64_t> global_batch;  // samples of a step over all GPUs
  std::optional<std::int64_t> accumulation;
  std::optional<std::int64_t> parameters;
  std::optional<std::int64_t> seq;
  std::optional<std::int64_t> tokens;  // of a step over all GPUs
  std::optional<std::int64_t> layers, hidden;
  std::optional<double> mfu;  // a fraction, as the log computes it
  std::string precision;
};

// One line of a table of results: so many GPUs, so fast.
struct ScalingRow {
  std::int64_t gpus = 0;
  std::optional<double> seconds;  // of a step, an epoch or the whole job, as the table has it
  std::optional<double> rate;     // samples or tokens a second over all GPUs
  std::optional<std::int64_t> gpu_batch;
  std::optional<std::int64_t> global_batch;
};

struct StepLog {
  std::string file;
  std::string format;         // "Megatron-LM"; empty when none was recognised
  std::string unit = "step";  // what one entry of `steps` times: "step", "micro-step", "epoch"
  std::vector<LoggedStep> steps;
  RateUnit rate_unit = RateUnit::none;
  RateScope rate_scope = RateScope::unknown;
  // Of the whole run, where the log ends with a summary.
  std::optional<double> run_seconds;
  std::optional<std::int64_t> run_steps;
  std::optional<double> run_samples_per_s;  // over all GPUs
  LogFacts facts;
  std::vector<LoggedPart> parts;
  std::vector<ScalingRow> rows;
  std::vector<std::string> skipped;  // "3 lines of other ranks"
  std::vector<std::string> doubts;   // what a figure of the log is, and is not
};

}  // namespace stepsight
