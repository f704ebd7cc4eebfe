#include "model/io/logs/read_log.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/errors.h"
#include "model/io/logs/deepspeed.h"
#include "model/io/logs/hf_trainer.h"
#include "model/io/logs/lightning_profile.h"
#include "model/io/logs/log_lines.h"
#include "model/io/logs/megatron.h"
#include "model/io/logs/nanogpt.h"
#include "model/io/logs/nsys_summary.h"
#include "model/io/logs/progress_bar.h"
#include "model/io/logs/table_log.h"
#include "model/io/logs/torchtitan.h"
#include "model/io/logs/vision.h"

namespace stepsight {

namespace {

// Where two find as many steps the earlier one gives them.
using Readers = std::tuple<MegatronLog,
                           NanogptLog,
                           TorchtitanLog,
                           VisionLog,
                           DeepspeedLog,
                           ProgressBarLog,
                           HfTrainerLog,
                           LightningProfileLog,
                           NsysSummaryLog,
                           TableLog>;

template <typename T>
void fill(std::optional<T>& into, const std::optional<T>& from) {
  if (!into) into = from;
}

void fill(LogFacts& into, const LogFacts& from) {
  fill(into.gpus, from.gpus);
  fill(into.gpu_batch, from.gpu_batch);
  fill(into.global_batch, from.global_batch);
  fill(into.accumulation, from.accumulation);
  fill(into.parameters, from.parameters);
  fill(into.seq, from.seq);
  fill(into.tokens, from.tokens);
  fill(into.layers, from.layers);
  fill(into.hidden, from.hidden);
  fill(into.mfu, from.mfu);
  if (into.precision.empty()) into.precision = from.precision;
}

template <typename T>
void append(std::vector<T>& into, std::vector<T>&& from) {
  std::ranges::move(from, std::back_inserter(into));
}

bool says_nothing(const StepLog& log) {
  return log.steps.empty() && log.parts.empty() && log.rows.empty() && !log.run_seconds &&
         !log.run_samples_per_s;
}

StepLog merged(std::vector<StepLog> logs) {
  std::erase_if(logs, [](const StepLog& l) { return l.format.empty(); });
  if (logs.empty()) return {};
  const auto most =
      std::ranges::max_element(logs, {}, [](const StepLog& l) { return l.steps.size(); });
  StepLog out = std::move(*most);
  for (StepLog& other : logs) {
    if (&other == &*most) continue;
    fill(out.facts, other.facts);
    fill(out.run_seconds, other.run_seconds);
    fill(out.run_steps, other.run_steps);
    fill(out.run_samples_per_s, other.run_samples_per_s);
    if (other.steps.size() > 1) {
      out.skipped.push_back(
          fmt::format("{} entries that look like {}", other.steps.size(), other.format));
    }
    if (!other.parts.empty() || other.run_seconds) out.format += " with " + other.format;
    append(out.parts, std::move(other.parts));
    append(out.rows, std::move(other.rows));
    if (other.steps.empty()) append(out.doubts, std::move(other.doubts));
  }
  return out;
}

template <typename ReadLines>
StepLog read_with(const std::string& file, const ReadLines& read_lines_of) {
  auto readers = std::make_unique<Readers>();
  const std::size_t cut = read_lines_of([&](std::string_view line) {
    std::apply([line](auto&... reader) { (reader.line(line), ...); }, *readers);
  });
  std::vector<StepLog> logs;
  std::apply([&logs](auto&... reader) { (logs.push_back(reader.finish()), ...); }, *readers);
  StepLog log = merged(std::move(logs));
  if (says_nothing(log)) {
    std::string why = log.doubts.empty() ? "" : " (" + log.format + ": " + log.doubts.front() + ")";
    throw UserError(
        file + ": no training steps were found" + why +
        "; known are Hugging Face Trainer (bar, dictionaries, trainer_state.json), Lightning, "
        "nanoGPT, litgpt, llm.c, nanochat, Megatron-LM, Megatron-DeepSpeed, NeMo, nanotron, "
        "DeepSpeed, torchtitan, fairseq, composer, OLMo, mmengine, detectron2, Ultralytics, "
        "timm, torchvision, DLLogger, Nsight Systems' cuda_gpu_kern_sum, and tables (CSV, "
        "Markdown) with a step or a number of "
        "GPUs and a time or a rate");
  }
  log.file = file;
  if (cut > 0) log.skipped.push_back(fmt::format("the ends of {} lines over 64 KiB", cut));
  return log;
}

}  // namespace

StepLog read_step_log(const std::string& path) {
  return read_with(path, [&](const LineSink& sink) { return read_lines(path, sink); });
}

StepLog read_step_log_text(const std::string& file, std::string_view text) {
  return read_with(file, [&](const LineSink& sink) { return read_lines_text(text, sink); });
}

}  // namespace stepsight
