#include "reports/verdict.h"

#include "reports/predict_report.h"
#include "reports/text_table.h"

namespace stepsight {

std::string pace_sentence(const Prediction& p, const Words& words) {
  const std::string_view bound = bound_by(p);
  if (bound == "host") {
    return words("pace.host",
                 fmt::arg("host", format_seconds(p.host_s)),
                 fmt::arg("busy", format_seconds(p.gpu_busy_s)));
  }
  if (bound == "loader") {
    return words("pace.loader",
                 fmt::arg("share", format_percent(p.attribution.loading / p.step.value, 0)));
  }
  if (bound == "link") {
    return words("pace.link", fmt::arg("share", format_percent(p.exposed_s / p.step.value, 0)));
  }
  return words("pace.gpu", fmt::arg("share", format_percent(p.gpu_busy_s / p.step.value, 0)));
}

std::string batches_sentence(const Memory& m, const Words& words) {
  return m.largest_batch > 0 ? words("memory.largest_batch", fmt::arg("batch", m.largest_batch))
                             : words("memory.no_batch");
}

std::string memory_sentence(const Memory& m, double card_bytes, const Words& words) {
  return words(m.fits ? "memory.fits" : "memory.too_much",
               fmt::arg("needed", format_bytes(m.needed)),
               fmt::arg("card", format_bytes(card_bytes)),
               fmt::arg("batches", batches_sentence(m, words)));
}

std::string verdict(const StudyPoint& point, const Words& words) {
  const Prediction& p = point.prediction;
  const std::int64_t gpus = point.scenario.cluster.gpus;
  std::string out;
  if (gpus == 1) {
    out = words("verdict.one_gpu",
                fmt::arg("step", format_seconds(p.step.value)),
                fmt::arg("mfu", format_percent(p.mfu, 0)));
  } else if (point.scenario.training.global_batch > 0 && point.strong) {
    out = words("verdict.strong",
                fmt::arg("gpus", gpus),
                fmt::arg("times", fmt::format("{:.2f}", point.strong->scaling.speedup)),
                fmt::arg("efficiency", format_percent(point.strong->scaling.efficiency, 0)),
                fmt::arg("step", format_seconds(p.step.value)));
  } else {
    out = words("verdict.weak",
                fmt::arg("gpus", gpus),
                fmt::arg("times", fmt::format("{:.2f}", point.weak.scaling.speedup)),
                fmt::arg("efficiency", format_percent(point.weak.scaling.efficiency, 0)),
                fmt::arg("step", format_seconds(p.step.value)));
  }
  out += words.text("sentence.gap");
  out += pace_sentence(p, words);
  if (!p.memory.fits) {
    out += words.text("sentence.gap");
    out += words("verdict.does_not_fit", fmt::arg("needed", format_bytes(p.memory.needed)));
  }
  return out;
}

}  // namespace stepsight
