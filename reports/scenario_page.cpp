#include "reports/scenario_page.h"

#include "reports/question.h"
#include "reports/text_table.h"
#include "reports/verdict.h"

namespace stepsight {

namespace {

DocTable::Column figure(std::string key, std::string title) {
  return {std::move(key), std::move(title), true};
}
DocTable::Column words_column(std::string key, std::string title) {
  return {std::move(key), std::move(title), false};
}

Cell seconds_cell(double s) {
  return {format_seconds(s), s};
}
Cell count_cell(double n) {
  return {format_count(n), n};
}
Cell whole_cell(std::int64_t n) {
  return {std::to_string(n), static_cast<double>(n)};
}
Cell share_cell(double s, int digits = 0) {
  return {format_percent(s, digits), s};
}
Cell whole_share_cell(double s) {
  return share_cell(s);
}
Cell times_cell(double x) {
  return {fmt::format("{:.2f}x", x), x};
}
Cell bytes_cell(double b) {
  return {format_bytes(b), b};
}

bool images(const StudyPoint& p) {
  return takes_images(p.scenario.model.family);
}
double throughput(const StudyPoint& p) {
  return images(p) ? p.prediction.samples_per_s : p.prediction.tokens_per_s;
}

// The figures of a point that a row of a table has.
std::vector<DocTable::Column> figure_columns(const Taken& taken, const Words& words) {
  return {figure("step_s", words("column.step")),
          figure(taken.images ? taken.tokens ? "per_s" : "images_per_s" : "tokens_per_s",
                 std::string(words.text(taken.column()))),
          figure("weak_speedup", words("column.weak")),
          figure("weak_efficiency", words("column.weak_efficiency")),
          figure("strong_speedup", words("column.strong")),
          figure("strong_efficiency", words("column.strong_efficiency")),
          figure("mfu", "MFU"),
          figure("exposed_s", words("column.exposed")),
          figure("memory_bytes", words("column.memory"))};
}

struct Figures {
  double step = 0, throughput = 0;
  Scaling weak;
  std::optional<Scaling> strong;
  double mfu = 0;
  std::optional<double> exposed;  // nothing where nothing is exchanged
  double needed_bytes = 0;
  bool fits = true;
};

// Of a point of a study or of a quick one: their fields have the same names.
template <typename P>
Figures figures_common(const Scenario& s, const P& r) {
  Figures out;
  out.step = r.step.value;
  out.throughput = takes_images(s.model.family) ? r.samples_per_s : r.tokens_per_s;
  out.mfu = r.mfu;
  if (r.message_bytes > 0) out.exposed = r.exposed_s;
  return out;
}

Figures figures_of(const StudyPoint& p) {
  Figures out = figures_common(p.scenario, p.prediction);
  out.weak = p.weak.scaling;
  if (p.strong) out.strong = p.strong->scaling;
  out.needed_bytes = p.prediction.memory.needed;
  out.fits = p.prediction.memory.fits;
  return out;
}

Figures figures_of(const QuickPoint& p) {
  Figures out = figures_common(p.scenario, p.prediction);
  out.weak = p.weak;
  out.strong = p.strong;
  out.needed_bytes = p.prediction.needed_bytes;
  out.fits = p.prediction.fits;
  return out;
}

void add_figures(std::vector<Cell>& row, const Figures& f) {
  row.push_back(seconds_cell(f.step));
  row.push_back(count_cell(f.throughput));
  row.push_back(times_cell(f.weak.speedup));
  row.push_back(share_cell(f.weak.efficiency));
  row.push_back(f.strong ? times_cell(f.strong->speedup) : Cell("-"));
  row.push_back(f.strong ? share_cell(f.strong->efficiency) : Cell("-"));
  row.push_back(share_cell(f.mfu));
  row.push_back(f.exposed ? seconds_cell(*f.exposed) : Cell("-"));
  row.push_back({format_bytes(f.needed_bytes) + (f.fits ? "" : " !"), f.needed_bytes});
}

// A table of parts that add up to a whole, and the chart of the same figures.
void add_parts(Section& section,
               const std::string& id,
               const std::string& title,
               const std::vector<Part>& parts,
               const std::string& whole,
               double sum,
               ChartKind kind,
               const std::string& unit,
               const Words& words) {
  const auto cell = [&](double v) { return unit == "bytes" ? bytes_cell(v) : seconds_cell(v); };
  Chart chart{.id = id + "_chart",
              .title = title,
              .kind = kind,
              .x_title = {},
              .y_title = {},
              .unit = unit,
              .categories = {},
              .x = {},
              .series = {},
              .labels = {}};
  chart.series.push_back({unit == "bytes" ? "bytes" : "seconds", title, {}, {}, {}, false});
  DocTable table{id,
                 title,
                 {words_column("part", words("column.part")),
                  figure(unit == "bytes" ? "bytes" : "seconds", words("column.value")),
                  figure("share", words("column.share"))},
                 {}};
  const auto add = [&](const std::string& name, double value) {
    Cell v = cell(std::abs(value));
    if (value < 0) v = {"-" + v.text, value};
    table.rows.push_back({name, v, share_cell(sum > 0 ? value / sum : 0, 1)});
    chart.categories.push_back(name);
    chart.series[0].values.emplace_back(value);
  };
  for (const auto& [name, value] : parts) add(name, value);
  add(whole, sum);
  if (kind == ChartKind::bars) {  // the whole would dwarf its parts
    chart.categories.pop_back();
    chart.series[0].values.pop_back();
  }
  section.blocks.emplace_back(std::move(chart));
  section.blocks.emplace_back(std::move(table));
}

}  // namespace

Section answer_section(const StudyPoint& p, const GpuProfile& gpu, const Words& words) {
  const Prediction& r = p.prediction;
  Section out{"answer", words("section.answer"), {}};
  DocTable table{"answer",
                 "",
                 {words_column("figure", words("column.figure")),
                  figure("value", words("column.value")),
                  figure("p5", words("column.from")),
                  figure("p95", words("column.to")),
                  words_column("meaning", words("column.meaning"))},
                 {}};
  const auto add = [&](const char* name, Cell value, std::string meaning) {
    table.rows.push_back({words(name), std::move(value), Cell(), Cell(), std::move(meaning)});
  };
  const auto between = [&](const Quantiles& q, Cell (*cell)(double)) {
    if (!(q.p95 > q.p5)) return;
    table.rows.back()[2] = cell(q.p5);
    table.rows.back()[3] = cell(q.p95);
  };
  const Quantiles& step = p.uncertainty.step;
  add("figure.step", seconds_cell(r.step.value), words("meaning.step"));
  between(step, seconds_cell);
  add(images(p) ? "figure.images" : "figure.tokens",
      count_cell(throughput(p)),
      words("meaning.throughput"));
  if (step.p5 > 0) between(rate_of(step, throughput(p) * r.step.value), count_cell);
  if (p.scenario.cluster.gpus > 1) {
    add("figure.weak", times_cell(p.weak.scaling.speedup), words("meaning.weak"));
    between(p.weak.speedup, times_cell);
    add("figure.weak_efficiency",
        share_cell(p.weak.scaling.efficiency),
        words("meaning.efficiency"));
    between(p.weak.efficiency, whole_share_cell);
    if (p.strong) {
      add("figure.strong", times_cell(p.strong->scaling.speedup), words("meaning.strong"));
      between(p.strong->speedup, times_cell);
      add("figure.strong_efficiency",
          share_cell(p.strong->scaling.efficiency),
          words("meaning.efficiency"));
      between(p.strong->efficiency, whole_share_cell);
    }
  }
  const Dtype type = p.scenario.training.precision.compute;
  add("figure.mfu",
      share_cell(r.mfu),
      words("meaning.mfu",
            fmt::arg("peak",
                     fmt::format("{:.0f}", gpu.vendor_TFLOPS[static_cast<std::size_t>(type)])),
            fmt::arg("format", info(type).name)));
  if (r.message_bytes > 0) {
    add("figure.exposed",
        seconds_cell(r.exposed_s),
        words("meaning.exposed",
              fmt::arg("all", format_seconds(r.communication_s)),
              fmt::arg("bytes", format_bytes(r.message_bytes))));
    between(p.exposed_s, seconds_cell);
  }
  add("figure.memory",
      bytes_cell(r.memory.needed),
      words("meaning.memory", fmt::arg("card", format_bytes(gpu.memory_bytes))));
  out.blocks.emplace_back(Paragraph{words("answer.interval")});
  out.blocks.emplace_back(std::move(table));
  return out;
}

Section scaling_section(const std::vector<StudyPoint>& curve, const Words& words) {
  Section out{"scaling", words("section.scaling"), {}};
  out.blocks.emplace_back(Paragraph{words("scaling.note")});
  Chart chart{.id = "scaling_chart",
              .title = words("scaling.chart"),
              .kind = ChartKind::lines,
              .x_title = "GPUs",
              .y_title = words("scaling.speedup"),
              .unit = "x",
              .categories = {},
              .x = {},
              .series = {},
              .labels = {}};
  ChartSeries ideal{"ideal", words("scaling.ideal"), {}, {}, {}, true};
  ChartSeries weak{"weak", words("scaling.weak"), {}, {}, {}, false};
  ChartSeries strong{"strong", words("scaling.strong"), {}, {}, {}, false};
  DocTable table{"scaling", "", {figure("gpus", "GPUs")}, {}};
  const auto band = [](ChartSeries& series, const Quantiles& q) {
    series.low.push_back(q.p5);
    series.high.push_back(q.p95);
  };
  Taken taken;
  taken.add(curve.front().scenario);
  for (DocTable::Column& c : figure_columns(taken, words)) {
    table.columns.push_back(std::move(c));
  }
  for (const StudyPoint& p : curve) {
    const auto gpus = static_cast<double>(p.scenario.cluster.gpus);
    chart.categories.push_back(std::to_string(p.scenario.cluster.gpus));
    chart.x.push_back(gpus);
    ideal.values.emplace_back(gpus);
    weak.values.emplace_back(p.weak.scaling.speedup);
    strong.values.push_back(p.strong ? std::optional(p.strong->scaling.speedup) : std::nullopt);
    band(weak, p.weak.speedup);
    if (p.strong) band(strong, p.strong->speedup);
    std::vector<Cell> row{whole_cell(p.scenario.cluster.gpus)};
    add_figures(row, figures_of(p));
    table.rows.push_back(std::move(row));
  }
  if (strong.low.size() < strong.values.size()) strong.low = strong.high = {};  // not everywhere
  chart.series = {std::move(weak), std::move(strong), std::move(ideal)};
  out.blocks.emplace_back(std::move(chart));
  out.blocks.emplace_back(std::move(table));
  return out;
}

Section sweep_section(const ScenarioReport& report, const Words& words) {
  Section out{"sweep", words("section.sweep"), {}};
  DocTable table{"sweep", "", {}, {}};
  for (const std::string& axis : report.axes)
    table.columns.push_back(words_column(axis, axis_words(axis, words)));
  Taken taken;
  for (const QuickPoint& p : report.sweep) taken.add(p.scenario);
  for (DocTable::Column& c : figure_columns(taken, words)) table.columns.push_back(std::move(c));
  for (std::size_t i = 0; i < report.sweep.size(); ++i) {
    std::vector<Cell> row;
    for (const std::string& value : report.coordinates[i]) row.emplace_back(value);
    add_figures(row, figures_of(report.sweep[i]));
    table.rows.push_back(std::move(row));
  }
  out.blocks.emplace_back(Paragraph{words("sweep.note", fmt::arg("points", report.sweep.size()))});
  out.blocks.emplace_back(std::move(table));
  return out;
}

Section waterfall_section(const StudyPoint& p, const Words& words) {
  const Attribution& a = p.prediction.attribution;
  const std::int64_t gpus = p.scenario.cluster.gpus;
  Section out{"why", words("section.why"), {}};
  const bool staged = p.scenario.parallel.pipeline > 1;
  const bool strong = p.scenario.training.global_batch > 0 && p.strong && gpus > 1;
  std::vector<Part> parts;
  if (strong) {
    const double ideal = p.strong->one_gpu.value / static_cast<double>(gpus);
    parts.emplace_back(words("why.ideal", fmt::arg("gpus", gpus)), ideal);
    parts.emplace_back(words("why.smaller"), a.alone - ideal);
  } else {
    parts.emplace_back(words(staged ? "why.stage" : "why.alone"), a.alone);
  }
  if (staged) {
    parts.emplace_back(words("why.bubble"), a.bubble);
  } else {
    parts.emplace_back(words(shards_parameters(p.scenario.parallel.strategy) ? "why.unit_copies"
                                                                             : "why.bucket_copies"),
                       a.bucket_copies);
  }
  parts.emplace_back(words("why.slow_down"), a.slow_down);
  parts.emplace_back(words("why.exposed"), a.exposed);
  if (a.slowest > 0) parts.emplace_back(words("why.slowest"), a.slowest);
  if (a.loading > 0) parts.emplace_back(words("why.loading"), a.loading);
  if (a.stalls > 0) parts.emplace_back(words("why.stalls"), a.stalls);
  out.blocks.emplace_back(Paragraph{words(strong ? "why.strong_note" : "why.weak_note")});
  add_parts(out,
            "why",
            words("why.chart", fmt::arg("gpus", gpus)),
            parts,
            words("why.step", fmt::arg("gpus", gpus)),
            p.prediction.step.value,
            ChartKind::waterfall,
            "s",
            words);
  return out;
}

Section kernels_section(const StudyPoint& p, const Words& words) {
  Section out{"kernels", words("section.kernels"), {}};
  std::vector<Part> parts;
  double busy = 0;
  for (const auto& [kind, seconds] : p.prediction.breakdown) {
    if (kind == WorkKind::communication) continue;
    parts.emplace_back(words("kernels." + std::string(name_of(kind))), seconds);
    busy += seconds;
  }
  out.blocks.emplace_back(Paragraph{pace_sentence(p.prediction, words)});
  add_parts(out,
            "kernels",
            words("kernels.chart"),
            parts,
            words("kernels.all"),
            busy,
            ChartKind::bars,
            "s",
            words);
  return out;
}

Section memory_section(const StudyPoint& p, const GpuProfile& gpu, const Words& words) {
  const Memory& m = p.prediction.memory;
  Section out{"memory", words("section.memory"), {}};
  out.blocks.emplace_back(Paragraph{memory_sentence(m, gpu.memory_bytes, words)});
  std::vector<Part> parts;
  for (const MemoryPart& part : memory_parts) {
    if (m.at_peak.*part.bytes <= 0) continue;
    parts.emplace_back(words("memory." + std::string(part.name)), m.at_peak.*part.bytes);
  }
  parts.emplace_back(words("memory.reserve"), m.reserve);
  add_parts(out,
            "memory",
            words("memory.chart"),
            parts,
            words("memory.needed"),
            m.needed,
            ChartKind::bars,
            "bytes",
            words);
  return out;
}

Document scenario_page(const ScenarioReport& report, const GpuProfile& gpu, const Words& words) {
  const StudyPoint& focus = report.focus;
  Document out;
  out.kind = "scenario";
  out.language = words.language();
  out.table_words = words("page.table");
  out.title = report.title.empty() ? focus.scenario.model.name : report.title;
  out.question = question_line(focus.scenario, gpu, words);
  out.verdict = verdict(focus, words);
  out.sections.push_back(answer_section(focus, gpu, words));
  if (report.curve.size() > 1) out.sections.push_back(scaling_section(report.curve, words));
  const std::vector<std::string>& axes = report.axes;
  if (report.sweep.size() > 1 && (axes.size() != 1 || axes.front() != "gpus")) {
    out.sections.push_back(sweep_section(report, words));
  }
  const Attribution& a = focus.prediction.attribution;
  const bool irregular = a.slowest + a.loading + a.stalls > 0;
  if (focus.prediction.message_bytes > 0 || irregular)
    out.sections.push_back(waterfall_section(focus, words));
  out.sections.push_back(kernels_section(focus, words));
  out.sections.push_back(timeline_section(report.trace, words));
  out.sections.push_back(memory_section(focus, gpu, words));
  std::vector<StudyPoint> counts = report.curve;
  counts.insert(counts.end(), report.larger.begin(), report.larger.end());
  out.sections.push_back(cost_section(focus, counts, words));
  if (!focus.uncertainty.contributions.empty()) {
    out.sections.push_back(sensitivity_section(focus.uncertainty, words));
  }
  out.sections.push_back(assumptions_section(focus, gpu, report.notes, words));
  out.sections.push_back(profile_section(gpu, words));
  Section copy{"copy", words("section.copy"), {}};
  copy.blocks.emplace_back(Paragraph{words("copy.note")});
  copy.blocks.emplace_back(Code{"scenario", report.scenario_text});
  if (!report.command.empty()) copy.blocks.emplace_back(Code{"command", report.command});
  out.sections.push_back(std::move(copy));
  return out;
}

}  // namespace stepsight
