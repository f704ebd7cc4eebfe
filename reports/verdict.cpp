#include "reports/verdict.h"

#include "reports/predict_report.h"
#include "reports/text_table.h"

namespace stepsight {

std::string pace_sentence(const Prediction& p, const Words& words) {
  const std::string_view bound = bound_by(p);
  if (bound == "host") {
    return words("pace.host", fmt::arg("host", format_seconds(p.host_s)),
                 fmt::arg("busy", format_seconds(p.gpu_busy_s)));
  }
  if (bound == "loader") {
    return words("pace.loader", fmt::arg("share", format_percent(p.attribution.loading / p.step.value, 0)));
  }
  if (bound == "link") {
    return words("pace.link", fmt::arg("share", format_percent(p.exposed_s / p.step.value, 0)));
  }
  return words("pace.gpu", fmt::arg("share", format_percent(p.gpu_busy_s / p.step.value, 0)));
}

std::string memory_sentence(const Memory& m, double card_bytes, const Words& words) {
  const std::string fits =
      m.largest_batch > 0 ? words("memory.largest_batch", fmt::arg("batch", m.largest_batch))
                          : words("memory.no_batch");
  return words(m.fits ? "memory.fits" : "memory.too_much", fmt::arg("needed", format_bytes(m.needed)),
               fmt::arg("card", format_bytes(card_bytes)), fmt::arg("batches", fits));
}

std::string verdict(const StudyPoint& point, const Words& words) {
  const Prediction& p = point.prediction;
  const std::int64_t gpus = point.scenario.cluster.gpus;
  std::string out;
  if (gpus == 1) {
    out = words("verdict.one_gpu", fmt::arg("step", format_seconds(p.step.value)),
                fmt::arg("mfu", format_percent(p.mfu, 0)));
  } else if (point.scenario.training.global_batch > 0 && point.strong) {
    out = words("verdict.strong", fmt::arg("gpus", gpus),
                fmt::arg("times", fmt::format("{:.2f}", point.strong->scaling.speedup)),
                fmt::arg("efficiency", format_percent(point.strong->scaling.efficiency, 0)),
                fmt::arg("step", format_seconds(p.step.value)));
  } else {
    out = words("verdict.weak", fmt::arg("gpus", gpus),
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

namespace {

// Bytes of the UTF-8 sequence that begins with `lead`.
std::size_t sequence_bytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// Three and four bytes: ideographs and their punctuation, as far as the catalogues use them.
std::size_t columns_of(std::size_t bytes) {
  return bytes >= 3 ? 2 : 1;
}

}  // namespace

std::string wrap_wide(std::string_view text, std::size_t room) {
  // Pieces that stay whole: an ideograph, or a run of other characters with the blank after it.
  std::string out;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    std::size_t width = 0;
    do {
      const std::size_t bytes = sequence_bytes(text[end]);
      width += columns_of(bytes);
      end += bytes;
      if (bytes >= 3 || text[end - 1] == ' ') break;
    } while (end < text.size() && sequence_bytes(text[end]) < 3);
    const std::string_view piece = text.substr(at, end - at);
    const bool blank = piece.back() == ' ';
    // A line never begins with the punctuation that ends a clause.
    const bool hangs = piece == "，" || piece == "。" || piece == "；" || piece == "：" || piece == "）";
    if (used > 0 && used + width - (blank ? 1 : 0) > room - (hangs ? 0 : 2)) {
      while (!out.empty() && out.back() == ' ') out.pop_back();
      out += '\n';
      used = 0;
    }
    out += piece;
    used += width;
    at = end;
  }
  return out;
}

std::string verdict_text(const StudyPoint& point, const GpuProfile& gpu, const Words& words) {
  std::string out;
  const auto add = [&](const std::string& paragraph) { out += "\n" + wrap_wide(paragraph) + "\n"; };
  add(verdict(point, words));
  add(memory_sentence(point.prediction.memory, gpu.memory_bytes, words));
  const Quantiles& step = point.uncertainty.step;
  if (step.p95 > step.p5) {
    add(words("verdict.interval", fmt::arg("from", format_seconds(step.p5)),
              fmt::arg("to", format_seconds(step.p95))));
  }
  if (const Contribution* weakest = weakest_input(point.uncertainty)) {
    add(words("sensitivity.weakest", fmt::arg("input", weakest->input),
              fmt::arg("share", format_percent(weakest->share, 0))));
  }
  if (point.prediction.unmeasured_share > 0.02) {
    add(words("assumptions.unmeasured", fmt::arg("share", format_percent(point.prediction.unmeasured_share, 0))));
  }
  return out;
}

}  // namespace stepsight
