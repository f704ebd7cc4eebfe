#include "reports/predict_sections.h"

#include <array>

#include <fmt/format.h>

#include "reports/certainty.h"
#include "reports/predict_report.h"
#include "reports/text_table.h"
#include "reports/verdict.h"

namespace stepsight {

namespace {

std::string factor(double f) {
  return fmt::format("{:.2f}", f);
}

// The causes that company adds to what a GPU would need alone.
void add_communication(std::vector<Part>& parts,
                       const Attribution& a,
                       const Parallel& split,
                       const Words& words) {
  if (split.pipeline > 1) {
    parts.emplace_back(words("why.bubble"), a.bubble);
  } else {
    parts.emplace_back(
        words(shards_parameters(split.strategy) ? "why.unit_copies" : "why.bucket_copies"),
        a.bucket_copies);
  }
  parts.emplace_back(words("why.slow_down"), a.slow_down);
  parts.emplace_back(words("why.exposed"), a.exposed);
}

// What ranks that are unequal, data that comes late and pauses add.
void add_irregular(std::vector<Part>& parts, const Attribution& a, const Words& words) {
  if (a.slowest > 0) parts.emplace_back(words("why.slowest"), a.slowest);
  if (a.loading > 0) parts.emplace_back(words("why.loading"), a.loading);
  if (a.stalls > 0) parts.emplace_back(words("why.stalls"), a.stalls);
}

std::string total_name(const StudyPoint& p, const Words& words) {
  const std::int64_t gpus = p.scenario.cluster.gpus;
  return gpus > 1 ? words("why.total", fmt::arg("gpus", gpus)) : words("why.total_one");
}

// Each GPU keeps its batch: what one GPU needs for it, and what the others' company costs.
std::string weak_waterfall(const StudyPoint& p, const Words& words) {
  const Prediction& r = p.prediction;
  const std::int64_t gpus = p.scenario.cluster.gpus;
  std::string out = wrap(gpus > 1 ? words("why.weak_title",
                                          fmt::arg("gpus", gpus),
                                          fmt::arg("times", factor(p.weak.scaling.speedup)))
                                  : words("why.loopback_title")) +
                    "\n";
  const bool staged = p.scenario.parallel.pipeline > 1;
  std::vector<Part> parts{{words(staged ? "why.stage" : "why.alone"), r.attribution.alone}};
  add_communication(parts, r.attribution, p.scenario.parallel, words);
  add_irregular(parts, r.attribution, words);
  return out + parts_text(parts, total_name(p, words), r.step.value);
}

// The step keeps its batch: an N-th of one GPU's time would be ideal; a share of the batch takes
// longer than that, because the optimizer does not shrink and small kernels fill the GPU less well.
std::string strong_waterfall(const StudyPoint& p, const Words& words) {
  const Prediction& r = p.prediction;
  const std::int64_t gpus = p.scenario.cluster.gpus;
  const double ideal = p.strong->one_gpu.value / static_cast<double>(gpus);
  std::vector<Part> parts{{words("why.ideal", fmt::arg("gpus", gpus)), ideal},
                          {words("why.smaller"), r.attribution.alone - ideal}};
  add_communication(parts, r.attribution, p.scenario.parallel, words);
  add_irregular(parts, r.attribution, words);
  return wrap(words("why.strong_title",
                    fmt::arg("gpus", gpus),
                    fmt::arg("times", factor(p.strong->scaling.speedup)))) +
         "\n" + parts_text(parts, total_name(p, words), r.step.value);
}

// What is waited for, with its interval where one is known.
std::string wait_words(const StudyPoint& p, const Words& words) {
  const std::string wait = format_seconds(p.prediction.exposed_s);
  if (p.exposed_s.p95 <= 0) return wait;
  return words(
      "why.wait_range",
      fmt::arg("wait", wait),
      fmt::arg(
          "range",
          format_range(format_seconds(p.exposed_s.p5), format_seconds(p.exposed_s.p95), words)));
}

std::string exchange(const StudyPoint& p, const Words& words) {
  const Prediction& r = p.prediction;
  const Parallel& split = p.scenario.parallel;
  const std::string all = format_seconds(r.communication_s);
  if (split.pipeline > 1) {
    return wrap(words(
               "why.messages", fmt::arg("all", all), fmt::arg("exposed", wait_words(p, words)))) +
           "\n";
  }
  const std::string what =
      shards_parameters(split.strategy)
          ? words("why.sharded")
          : words(r.buckets == 1 ? "why.bucket" : "why.buckets", fmt::arg("n", r.buckets));
  return wrap(words("why.exchange",
                    fmt::arg("bytes", format_bytes(r.message_bytes)),
                    fmt::arg("what", what),
                    fmt::arg("all", all),
                    fmt::arg("hidden", format_seconds(r.communication_s - r.exposed_s)),
                    fmt::arg("exposed", wait_words(p, words)))) +
         "\n";
}

std::string other_scaling(const StudyPoint& p, const Words& words) {
  const std::int64_t gpus = p.scenario.cluster.gpus;
  if (gpus == 1) return "";
  if (p.scenario.training.global_batch > 0) {
    return wrap(words("why.other_weak",
                      fmt::arg("gpus", gpus),
                      fmt::arg("times", factor(p.weak.scaling.speedup)))) +
           "\n";
  }
  if (!p.strong) return "";
  return wrap(words("why.other_strong",
                    fmt::arg("gpus", gpus),
                    fmt::arg("step", format_seconds(p.strong->step.value)),
                    fmt::arg("one", format_seconds(p.strong->one_gpu.value)),
                    fmt::arg("times", factor(p.strong->scaling.speedup)))) +
         "\n";
}

std::string moment_words(MemoryMoment moment, const Words& words) {
  constexpr std::array<const char*, 5> keys{"moment.forward",
                                            "moment.loss",
                                            "moment.backward_begin",
                                            "moment.backward_end",
                                            "moment.update"};
  return words(keys[static_cast<std::size_t>(moment)]);
}

std::string remedy_words(const Remedy& r, const Words& words) {
  constexpr std::array<const char*, 4> keys{
      "remedy.smaller_batch", "remedy.recompute", "remedy.shard", "remedy.more_gpus"};
  return words(
      r.fits ? "remedy.fits" : "remedy.still_not",
      fmt::arg("remedy", words(keys[static_cast<std::size_t>(r.kind)], fmt::arg("n", r.value))),
      fmt::arg("needed", format_bytes(r.needed)));
}

std::string part_words(const MemoryPart& part, const Words& words) {
  return words("memory." + std::string(part.name));
}

std::string memory(const Memory& m,
                   const Scenario& scenario,
                   const GpuProfile& gpu,
                   const Words& words) {
  const bool staged = scenario.parallel.pipeline > 1;
  std::string out =
      words(staged ? "memory.sum_stage" : "memory.sum",
            fmt::arg("opening", words(m.fits ? "memory.opening" : "opening.does_not_fit")),
            fmt::arg("needed", format_bytes(m.needed)),
            fmt::arg("card", format_bytes(gpu.memory_bytes)),
            fmt::arg("stage", m.stage + 1),
            fmt::arg("batches", batches_sentence(m, words)));
  std::string parts;
  for (const MemoryPart& part : memory_parts) {
    if (m.at_peak.*part.bytes < 1e6) continue;
    if (!parts.empty()) parts += words.text("list.comma");
    parts += part_words(part, words) + " " + format_bytes(m.at_peak.*part.bytes);
  }
  const auto add = [&](const std::string& sentence) {
    out += words.text("sentence.gap");
    out += sentence;
  };
  add(words("memory.tensors",
            fmt::arg("peak", format_bytes(m.peak)),
            fmt::arg("moment", moment_words(m.moment, words)),
            fmt::arg("parts", parts)));
  add(words("memory.rest", fmt::arg("reserve", format_bytes(m.reserve))));
  if (m.host > 0) add(words("memory.host", fmt::arg("host", format_bytes(m.host))));
  return out;
}

std::string remedies(const Memory& m, const Words& words) {
  std::string out =
      words("memory.most", fmt::arg("part", part_words(largest_part(m.at_peak), words)));
  if (m.remedies.empty()) return out;
  std::string list;
  for (const Remedy& r : m.remedies) {
    if (!list.empty()) list += words.text("list.semicolon");
    list += remedy_words(r, words);
  }
  out += words.text("sentence.gap");
  return out + words("memory.helps", fmt::arg("list", list));
}

}  // namespace

std::string why_not_linear(const StudyPoint& point, const Words& words) {
  const Prediction& r = point.prediction;
  if (r.message_bytes <= 0) return "";
  const bool shares_a_batch =
      point.scenario.training.global_batch > 0 && point.strong && point.scenario.cluster.gpus > 1;
  return "\n" + (shares_a_batch ? strong_waterfall(point, words) : weak_waterfall(point, words)) +
         exchange(point, words) + other_scaling(point, words);
}

std::string where_time_goes(const StudyPoint& point, const Words& words) {
  std::vector<Part> parts;
  double busy = 0;
  for (const auto& [kind, seconds] : point.prediction.breakdown) {
    if (kind == WorkKind::communication) continue;
    parts.emplace_back(words("kernels." + std::string(name_of(kind))), seconds);
    busy += seconds;
  }
  return "\n" + wrap(words("kernels.title")) + "\n" +
         parts_text(parts, words("kernels.total"), busy);
}

std::string verdicts(const StudyPoint& point, const GpuProfile& gpu, const Words& words) {
  const Prediction& r = point.prediction;
  std::vector<std::string> lines{pace_sentence(r, words)};
  if (r.clock < 0.995) {
    lines.push_back(words("verdict.clock",
                          fmt::arg("power", fmt::format("{:.0f}", gpu.power_W)),
                          fmt::arg("share", format_percent(r.clock, 0))));
  }
  lines.push_back(memory(r.memory, point.scenario, gpu, words));
  if (!r.memory.fits) lines.push_back(remedies(r.memory, words));
  if (point.padded_vocabulary && point.padded_vocabulary->value < 0.99 * r.step.value) {
    lines.push_back(words("verdict.padding",
                          fmt::arg("opening", words("opening.hint")),
                          fmt::arg("vocab", point.scenario.model.vocab),
                          fmt::arg("padded", (point.scenario.model.vocab + 63) / 64 * 64),
                          fmt::arg("step", format_seconds(point.padded_vocabulary->value)),
                          fmt::arg("now", format_seconds(r.step.value))));
  }
  if (r.unmeasured_share > 0.02) {
    lines.push_back(words("verdict.unmeasured",
                          fmt::arg("opening", words("opening.caution")),
                          fmt::arg("share", format_percent(r.unmeasured_share, 0))));
  }
  std::string out;
  for (const std::string& line : lines) out += "\n" + wrap(line) + "\n";
  return out;
}

}  // namespace stepsight
