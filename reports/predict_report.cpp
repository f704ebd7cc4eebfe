#include "reports/predict_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/text_table.h"

namespace stepsight {

namespace {

std::string precision_name(const Precision& precision) {
  for (const PrecisionName& row : precisions) {
    if (row.precision == precision) return std::string(row.name);
  }
  return "?";
}

std::string question(const PredictReport& report, const GpuProfile& gpu) {
  const Scenario& s = report.points.front().scenario;
  std::string out;
  if (!report.title.empty()) out += report.title + "\n";
  out += fmt::format("{} ({} parameters), {} x {} tokens a GPU and micro-step", s.model.name,
                     format_count(static_cast<double>(parameter_count(s.model))), s.training.batch,
                     s.training.seq);
  if (s.training.accumulation > 1) out += fmt::format(", {} micro-steps", s.training.accumulation);
  out += fmt::format(",\n{}{}, {}", precision_name(s.training.precision),
                     s.training.compile ? ", compiled" : "", gpu.title);
  const std::string& link = report.points.back().scenario.cluster.link;
  if (!link.empty()) out += ", " + link;
  return out + "\n";
}

bool only_gpus_vary(const PredictReport& report) {
  return std::ranges::all_of(report.axes, [](const std::string& a) { return a == "gpus"; });
}

std::string speedup_cell(const Scaling& s) { return fmt::format("{:.2f}x", s.speedup); }
std::string efficiency_cell(const Scaling& s) { return format_percent(s.efficiency, 0); }

std::string memory_cell(const Memory& m) {
  return format_bytes(m.peak) + (m.fits ? "" : " !");
}

std::string table_of(const PredictReport& report) {
  TextTable table;
  const bool gpus_only = only_gpus_vary(report);
  if (gpus_only) table.columns = {{"GPUs"}};
  for (const std::string& axis : report.axes) {
    if (!gpus_only) table.columns.push_back({axis});
  }
  for (const char* header : {"step", "tokens/s", "weak", "eff.", "strong", "eff.", "MFU", "exposed",
                             "memory"}) {
    table.columns.push_back({header});
  }
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const StudyPoint& p = report.points[i];
    std::vector<std::string> row;
    if (gpus_only) row.push_back(std::to_string(p.scenario.cluster.gpus));
    if (!gpus_only) row = report.coordinates[i];
    const Prediction& r = p.prediction;
    const bool strong = p.strong.has_value();
    for (std::string cell :
         {format_seconds(r.step.value), format_count(r.tokens_per_s), speedup_cell(p.weak.scaling),
          efficiency_cell(p.weak.scaling), strong ? speedup_cell(p.strong->scaling) : "-",
          strong ? efficiency_cell(p.strong->scaling) : "-", format_percent(r.mfu, 0),
          format_seconds(r.exposed_s), memory_cell(r.memory)}) {
      row.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(row));
  }
  return table.text();
}

std::string bar(double share) {
  constexpr double width = 30;
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * width + 0.5);
  return std::string(filled, '#');
}

// The step cut into parts that add up to it, each with a bar.
std::string parts_of(const std::vector<std::pair<std::string, double>>& parts, double whole) {
  TextTable table;
  table.columns = {{"", Align::left}, {"time"}, {"share"}, {"", Align::left}};
  for (const auto& [name, seconds] : parts) {
    table.rows.push_back({name, format_seconds(seconds), format_percent(seconds / whole),
                          bar(seconds / whole)});
  }
  const std::string text = table.text();
  const std::size_t header = text.find('\n', text.find('\n') + 1) + 1;
  return text.substr(header);
}

std::string why_not_linear(const StudyPoint& p) {
  const Attribution& a = p.prediction.attribution;
  const double step = p.prediction.step.value;
  std::string out = fmt::format("\nWhy {} GPUs are {:.2f} times one, not {}: a step of {}\n",
                                p.scenario.cluster.gpus, p.weak.scaling.speedup,
                                p.scenario.cluster.gpus, format_seconds(step));
  out += parts_of({{"what one GPU needs for its batch", a.alone},
                   {"copying gradients into buckets", a.bucket_copies},
                   {"waiting for communication", a.exposed},
                   {"compute slowed by communication", a.slow_down}},
                  step);
  out += fmt::format("Each GPU exchanges {} of gradients in {} buckets: {} on the link, of which\n"
                     "{} hide behind compute.\n",
                     format_bytes(p.prediction.message_bytes), p.prediction.buckets,
                     format_seconds(p.prediction.communication_s),
                     format_seconds(p.prediction.communication_s - p.prediction.exposed_s));
  return out;
}

std::string where_time_goes(const StudyPoint& p) {
  constexpr std::pair<WorkKind, const char*> names[] = {
      {WorkKind::gemm, "matrix products"},
      {WorkKind::attention, "attention"},
      {WorkKind::memory, "memory-bound passes"},
      {WorkKind::optimizer, "optimizer"},
      {WorkKind::sync_copy, "gradient copies"},
  };
  std::vector<std::pair<std::string, double>> parts;
  double busy = 0;
  for (const auto& [kind, seconds] : p.prediction.breakdown) {
    for (const auto& [named, name] : names) {
      if (named == kind) parts.emplace_back(name, seconds);
    }
    if (kind != WorkKind::communication) busy += seconds;
  }
  std::string out = fmt::format("\nWhere the GPU's {} of work go\n", format_seconds(busy));
  return out + parts_of(parts, busy);
}

std::string verdicts(const StudyPoint& p, const GpuProfile& gpu) {
  const Prediction& r = p.prediction;
  std::string out = "\n";
  if (r.host_bound) {
    out += fmt::format("The host sets the pace: issuing a step takes it {}, the GPU works {}.\n"
                       "A larger batch, compilation or CUDA graphs help; a faster GPU does not.\n",
                       format_seconds(r.host_s), format_seconds(r.gpu_busy_s));
  } else if (r.exposed_s > 0.15 * r.step.value) {
    out += "The link sets the pace. A larger batch, accumulation or a faster link help.\n";
  } else {
    out += "The GPU's compute sets the pace.\n";
  }
  if (r.clock < 0.995) {
    out += fmt::format("The power limit of {:.0f} W holds the clock at {} of its maximum.\n", gpu.power_W,
                       format_percent(r.clock, 0));
  }
  const Memory& m = r.memory;
  out += m.fits ? fmt::format("Memory: {} of {}; batches up to {} fit.\n", format_bytes(m.peak),
                              format_bytes(gpu.memory_bytes), m.largest_batch)
                : fmt::format("Does NOT fit: {} of {}; {}.\n", format_bytes(m.peak),
                              format_bytes(gpu.memory_bytes),
                              m.largest_batch > 0 ? "batches up to " + std::to_string(m.largest_batch) + " fit"
                                                  : std::string("not even a batch of 1 does"));
  if (r.unmeasured_share > 0.02) {
    out += fmt::format("{} of the time is in shapes that were not measured: class values or formulas.\n",
                       format_percent(r.unmeasured_share, 0));
  }
  if (p.padded_vocabulary && p.padded_vocabulary->value < 0.98 * r.step.value) {
    out += fmt::format("Hint: a vocabulary of {} is not a multiple of 8; padded to a multiple of 64 the\n"
                       "step takes {} instead of {}.\n",
                       p.scenario.model.vocab, format_seconds(p.padded_vocabulary->value),
                       format_seconds(r.step.value));
  }
  return out;
}

constexpr std::string_view legend =
    "\nweak: speed-up over one GPU, the batch of each GPU kept. strong: the global batch\n"
    "kept. eff.: speed-up / GPUs. MFU: the model's FLOP (no recomputation) over the\n"
    "vendor's dense peak. exposed: communication while the GPU has nothing to compute.\n"
    "memory: peak of one GPU, ! where it exceeds the card's.\n";

}  // namespace

std::string predict_text(const PredictReport& report, const GpuProfile& gpu) {
  const StudyPoint& last = report.points.back();
  std::string out = question(report, gpu) + "\n" + table_of(report);
  if (last.scenario.cluster.gpus > 1) out += why_not_linear(last);
  out += where_time_goes(last);
  out += verdicts(last, gpu);
  for (const std::string& note : report.notes) out += note + "\n";
  out += legend;
  return out;
}

}  // namespace stepsight
