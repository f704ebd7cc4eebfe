#include "reports/predict_sections.h"

#include <array>

#include <fmt/format.h>

#include "reports/certainty.h"
#include "reports/predict_report.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

std::string times(double factor) {
  return fmt::format("{:.2f} times", factor);
}

// The causes that company adds to what a GPU would need alone.
void add_communication(std::vector<Part>& parts, const Attribution& a, const Parallel& split) {
  if (split.pipeline > 1) {
    parts.emplace_back("bubble: waiting for other stages", a.bubble);
    parts.emplace_back("compute slowed by communication", a.slow_down);
    parts.emplace_back("waiting for communication", a.exposed);
    return;
  }
  parts.emplace_back(shards_parameters(split.strategy) ? "copying to and from gathered units"
                                                       : "copying gradients into buckets",
                     a.bucket_copies);
  parts.emplace_back("compute slowed by communication", a.slow_down);
  parts.emplace_back("waiting for communication", a.exposed);
}

// What ranks that are unequal, data that comes late and pauses add.
void add_irregular(std::vector<Part>& parts, const Attribution& a) {
  if (a.slowest > 0) parts.emplace_back("waiting for the slowest rank", a.slowest);
  if (a.loading > 0) parts.emplace_back("waiting for data", a.loading);
  if (a.stalls > 0) parts.emplace_back("pauses between steps", a.stalls);
}

std::string total_name(const StudyPoint& p) {
  const std::int64_t gpus = p.scenario.cluster.gpus;
  return gpus > 1 ? fmt::format("= step on {} GPUs", gpus) : "= step";
}

// Each GPU keeps its batch: what one GPU needs for it, and what the others' company costs.
std::string weak_waterfall(const StudyPoint& p) {
  const Prediction& r = p.prediction;
  const std::int64_t gpus = p.scenario.cluster.gpus;
  std::string out =
      gpus > 1
          ? wrap(fmt::format("Why {} GPUs do {} the work of one and not {} times (weak scaling)",
                             gpus,
                             times(p.weak.scaling.speedup),
                             gpus)) + "\n"
          : std::string("What the loop-back link adds to the step\n");
  const bool staged = p.scenario.parallel.pipeline > 1;
  std::vector<Part> parts{{staged ? "passes of the stage that computes longest"
                                  : "one GPU alone, for its own batch",
                           r.attribution.alone}};
  add_communication(parts, r.attribution, p.scenario.parallel);
  add_irregular(parts, r.attribution);
  return out + parts_text(parts, total_name(p), r.step.value);
}

// The step keeps its batch: an N-th of one GPU's time would be ideal; a share of the batch takes
// longer than that, because the optimizer does not shrink and small kernels fill the GPU less well.
std::string strong_waterfall(const StudyPoint& p) {
  const Prediction& r = p.prediction;
  const std::int64_t gpus = p.scenario.cluster.gpus;
  const double ideal = p.strong->one_gpu.value / static_cast<double>(gpus);
  std::vector<Part> parts{{fmt::format("ideal: 1/{} of one GPU's step", gpus), ideal},
                          {"smaller kernels, undivided optimizer", r.attribution.alone - ideal}};
  add_communication(parts, r.attribution, p.scenario.parallel);
  add_irregular(parts, r.attribution);
  return wrap(fmt::format("Why {} GPUs take the step {} as fast and not {} times (strong scaling)",
                          gpus,
                          times(p.strong->scaling.speedup),
                          gpus)) +
         "\n" + parts_text(parts, total_name(p), r.step.value);
}

// The wait's interval, where one is known.
std::string wait_range(const Quantiles& exposed) {
  if (exposed.p95 <= 0) return "";
  return fmt::format(" ({} in nine of ten)",
                     format_range(format_seconds(exposed.p5), format_seconds(exposed.p95)));
}

std::string exchange(const StudyPoint& p) {
  const Prediction& r = p.prediction;
  const Parallel& split = p.scenario.parallel;
  if (split.pipeline > 1) {
    return wrap(fmt::format("Messages and collectives run {} of the step on the stage that has most "
                            "of them; {}{} of the step goes to waiting for them.",
                            format_seconds(r.communication_s),
                            format_seconds(r.exposed_s),
                            wait_range(p.exposed_s))) +
           "\n";
  }
  const std::string what =
      shards_parameters(split.strategy)
          ? "parameters and gradients"
          : fmt::format("gradients in {} bucket{}", r.buckets, r.buckets == 1 ? "" : "s");
  return wrap(fmt::format("Each GPU exchanges {} of {} a step: {} on the link, of which {} hide behind "
                          "compute and {}{} are waited for.",
                          format_bytes(r.message_bytes),
                          what,
                          format_seconds(r.communication_s),
                          format_seconds(r.communication_s - r.exposed_s),
                          format_seconds(r.exposed_s),
                          wait_range(p.exposed_s))) +
         "\n";
}

std::string other_scaling(const StudyPoint& p) {
  if (p.scenario.cluster.gpus == 1) return "";
  if (p.scenario.training.global_batch > 0) {
    return wrap(fmt::format("With the batch of each GPU kept instead (weak scaling), {} GPUs do {} "
                            "the work of one.",
                            p.scenario.cluster.gpus,
                            times(p.weak.scaling.speedup))) +
           "\n";
  }
  if (!p.strong) return "";
  return wrap(
             fmt::format("With one GPU's step shared out instead (strong scaling), {} GPUs take {} "
                         "where one takes {}: {} as fast.",
                         p.scenario.cluster.gpus,
                         format_seconds(p.strong->step.value),
                         format_seconds(p.strong->one_gpu.value),
                         times(p.strong->scaling.speedup))) +
         "\n";
}

std::string pace(const Prediction& r) {
  const std::string_view bound = bound_by(r);
  if (bound == "loader") {
    return fmt::format(
        "Data sets the pace: the GPU waits for it {} of the step. More or faster workers, a "
        "faster disk or data prepared beforehand help; a faster GPU or link does not.",
        format_percent(r.attribution.loading / r.step.value, 0));
  }
  if (bound == "host") {
    return fmt::format(
        "The host sets the pace: issuing a step's kernels takes it {}, the GPU needs {} "
        "to run them. A larger batch, compilation or CUDA graphs help; a faster GPU "
        "or link does not.",
        format_seconds(r.host_s),
        format_seconds(r.gpu_busy_s));
  }
  if (bound == "link") {
    return fmt::format(
        "The link sets the pace: the GPU waits for it {} of the step. A larger batch, "
        "gradient accumulation or a faster link help.",
        format_percent(r.exposed_s / r.step.value, 0));
  }
  return fmt::format("The GPU's compute sets the pace: it is busy {} of the step.",
                     format_percent(r.gpu_busy_s / r.step.value, 0));
}

std::string moment_words(MemoryMoment moment) {
  constexpr std::array<const char*, 5> words{"in forward",
                                             "when the loss is computed",
                                             "as backward begins",
                                             "as backward ends",
                                             "in the optimizer's update"};
  return words[static_cast<std::size_t>(moment)];
}

std::string remedy_words(const Remedy& r) {
  const std::string fits = r.fits ? " fits" : " still does not fit";
  const std::string needs = fmt::format(" ({}){}", format_bytes(r.needed), fits);
  switch (r.kind) {
    case RemedyKind::smaller_batch: return fmt::format("a batch of {}{}", r.value, needs);
    case RemedyKind::recompute: return "full recomputation" + needs;
    case RemedyKind::shard: return fmt::format("FSDP over the same {} GPUs{}", r.value, needs);
    case RemedyKind::more_gpus: return fmt::format("FSDP over {} GPUs{}", r.value, needs);
  }
  return "";
}

std::string memory(const Memory& m, const Scenario& scenario, const GpuProfile& gpu) {
  std::string verdict = "not even a batch of 1 fits";
  if (m.largest_batch > 0) verdict = fmt::format("batches up to {} fit", m.largest_batch);
  std::string out = fmt::format("{} {} of the card's {}{}; {}. ",
                                m.fits ? "Memory:" : "DOES NOT FIT:",
                                format_bytes(m.needed),
                                format_bytes(gpu.memory_bytes),
                                scenario.parallel.pipeline > 1
                                    ? fmt::format(" on pipeline stage {}", m.stage + 1)
                                    : "",
                                verdict);
  out += fmt::format("Tensors take {} at most, {}: ", format_bytes(m.peak), moment_words(m.moment));
  std::string_view separator = "";
  for (const MemoryPart& part : memory_parts) {
    if (m.at_peak.*part.bytes < 1e6) continue;
    out += fmt::format("{}{} {}", separator, part.name, format_bytes(m.at_peak.*part.bytes));
    separator = ", ";
  }
  out += fmt::format(". Context, communicators and fragmentation take {}.",
                     format_bytes(m.reserve));
  if (m.host > 0) out += fmt::format(" Each GPU holds {} in host memory.", format_bytes(m.host));
  return out;
}

std::string remedies(const Memory& m) {
  std::string out = fmt::format("Most of it is {}.", largest_part(m.at_peak).name);
  std::string_view separator = " What helps: ";
  for (const Remedy& r : m.remedies) {
    out += std::string(separator) + remedy_words(r);
    separator = "; ";
  }
  return m.remedies.empty() ? out : out + ".";
}

}  // namespace

std::string why_not_linear(const StudyPoint& point) {
  const Prediction& r = point.prediction;
  if (r.message_bytes <= 0) return "";
  const bool shares_a_batch =
      point.scenario.training.global_batch > 0 && point.strong && point.scenario.cluster.gpus > 1;
  return "\n" + (shares_a_batch ? strong_waterfall(point) : weak_waterfall(point)) +
         exchange(point) +
         other_scaling(point);
}

std::string where_time_goes(const StudyPoint& point) {
  constexpr std::array<std::pair<WorkKind, const char*>, 5> names{{
      {WorkKind::gemm, "matrix products"},
      {WorkKind::attention, "attention"},
      {WorkKind::memory, "norms, elementwise, loss (memory)"},
      {WorkKind::optimizer, "optimizer"},
      {WorkKind::sync_copy, "gradient copies"},
  }};
  std::vector<Part> parts;
  double busy = 0;
  for (const auto& [kind, seconds] : point.prediction.breakdown) {
    for (const auto& [named, name] : names) {
      if (named != kind) continue;
      parts.emplace_back(name, seconds);
      busy += seconds;
    }
  }
  return "\nWhat the GPU computes in a step, undisturbed\n" +
         parts_text(parts, "= kernels of a step", busy);
}

std::string verdicts(const StudyPoint& point, const GpuProfile& gpu) {
  const Prediction& r = point.prediction;
  std::vector<std::string> lines{pace(r)};
  if (r.clock < 0.995) {
    lines.push_back(fmt::format("The power limit of {:.0f} W holds the clock at {} of its maximum.",
                                gpu.power_W,
                                format_percent(r.clock, 0)));
  }
  lines.push_back(memory(r.memory, point.scenario, gpu));
  if (!r.memory.fits) lines.push_back(remedies(r.memory));
  if (point.padded_vocabulary && point.padded_vocabulary->value < 0.99 * r.step.value) {
    lines.push_back(
        fmt::format("Hint: rows of {} logits are not aligned. With the vocabulary padded to {} the "
                    "step takes {} instead of {}.",
                    point.scenario.model.vocab,
                    (point.scenario.model.vocab + 63) / 64 * 64,
                    format_seconds(point.padded_vocabulary->value),
                    format_seconds(r.step.value)));
  }
  if (r.unmeasured_share > 0.02) {
    lines.push_back(
        fmt::format("Caution: {} of the time is in shapes far from every measured point; "
                    "there only formulas or class values speak.",
                    format_percent(r.unmeasured_share, 0)));
  }
  std::string out;
  for (const std::string& line : lines) out += "\n" + wrap(line) + "\n";
  return out;
}

}  // namespace stepsight
