#include "reports/validation_page.h"

#include "reports/text_table.h"

namespace stepsight {

namespace {

std::vector<Cell> summary_row(const std::string& name, const ErrorSummary& s) {
  const auto share = [](double v) { return Cell{format_percent(v), v}; };
  return {name,
          Cell{format_count(static_cast<double>(s.n)), static_cast<double>(s.n)},
          share(s.mape),
          share(s.median_ape),
          share(s.p90_ape),
          share(s.worst_ape),
          Cell{fmt::format("{:+.1f} %", 100 * s.bias), s.bias},
          s.intervals > 0 ? share(s.coverage90) : Cell("-"),
          s.intervals > 0 ? share(s.median_width) : Cell("-")};
}

Section errors_section(const Validation& v, const Words& words) {
  Section out{"errors", words("section.errors"), {}};
  DocTable table{"errors",
                 "",
                 {{"group", words("column.group"), false},
                  {"rows", words("column.rows"), true},
                  {"mape", words("column.mape"), true},
                  {"median_ape", words("column.median"), true},
                  {"p90_ape", words("column.p90"), true},
                  {"worst_ape", words("column.worst"), true},
                  {"bias", words("column.bias"), true},
                  {"coverage90", words("column.coverage"), true},
                  {"median_width", words("column.width"), true}},
                 {}};
  table.rows.push_back(summary_row(words("validation.group_all"), v.all()));
  for (const bool host : {false, true}) {
    std::vector<const ValidationPoint*> bound;
    for (const ValidationPoint& p : v.points) {
      if (p.host_bound == host) bound.push_back(&p);
    }
    table.rows.push_back(summary_row(words(host ? "validation.group_host" : "validation.group_gpu"),
                                     summarise(bound)));
  }
  if (v.memory().n > 0)
    table.rows.push_back(summary_row(words("validation.group_memory"), v.memory()));
  for (const char* group : {"source", "gpu", "model", "table"}) {
    const auto parts = v.by(group);
    if (parts.size() < 2) continue;
    for (const auto& [value, summary] : parts) {
      table.rows.push_back(summary_row(std::string(group) + " " + value, summary));
    }
  }
  out.blocks.emplace_back(Paragraph{words("validation.note")});
  out.blocks.emplace_back(std::move(table));
  return out;
}

Section points_section(const Validation& v, const Words& words) {
  Section out{"validation", words("section.validation"), {}};
  Chart chart{.id = "validation_chart",
              .title = words("validation.chart"),
              .kind = ChartKind::scatter,
              .x_title = words("column.measured"),
              .y_title = words("column.predicted"),
              .unit = "s",
              .categories = {},
              .x = {},
              .series = {},
              .labels = {}};
  ChartSeries predicted{"predicted", words("column.predicted"), {}, {}, {}, false};
  DocTable table{"rows",
                 "",
                 {{"row", words("column.row"), false},
                  {"model", words("column.model"), false},
                  {"measured_s", words("column.measured"), true},
                  {"predicted_s", words("column.predicted"), true},
                  {"p5_s", words("column.from"), true},
                  {"p95_s", words("column.to"), true},
                  {"error", words("column.error"), true},
                  {"bound_by", words("column.bound"), false}},
                 {}};
  const auto bound = [](double s) { return s > 0 ? Cell{format_seconds(s), s} : Cell(); };
  for (const ValidationPoint& p : v.points) {
    chart.x.push_back(p.measured_s);
    chart.labels.push_back(p.id);
    predicted.values.emplace_back(p.predicted_s);
    const auto model = p.groups.find("model");
    table.rows.push_back({p.id,
                          model == p.groups.end() ? Cell() : Cell(model->second),
                          Cell{format_seconds(p.measured_s), p.measured_s},
                          Cell{format_seconds(p.predicted_s), p.predicted_s},
                          bound(p.interval.p5),
                          bound(p.interval.p95),
                          Cell{fmt::format("{:+.1f} %", 100 * p.error()), p.error()},
                          p.host_bound ? "host" : "GPU"});
  }
  chart.series.push_back(std::move(predicted));
  out.blocks.emplace_back(std::move(chart));
  out.blocks.emplace_back(std::move(table));
  return out;
}

}  // namespace

Document validation_page(const Validation& v, const std::string& file, const Words& words) {
  Document out;
  out.kind = "validation";
  out.language = words.language();
  out.table_words = words("page.table");
  out.title = words("validation.title", fmt::arg("file", file));
  out.verdict = words("validation.none", fmt::arg("rows", v.rows));
  if (!v.points.empty()) {
    const ErrorSummary all = v.all();
    out.verdict = words("validation.verdict",
                        fmt::arg("rows", v.rows),
                        fmt::arg("predicted", v.points.size()),
                        fmt::arg("mape", format_percent(all.mape)),
                        fmt::arg("median", format_percent(all.median_ape)));
    out.sections.push_back(errors_section(v, words));
    out.sections.push_back(points_section(v, words));
  }
  if (!v.refused.empty()) {
    Section refused{"refused", words("section.refused"), {}};
    DocTable table{
        "refused",
        "",
        {{"reason", words("column.reason"), false}, {"rows", words("column.rows"), true}},
        {}};
    for (const auto& [reason, n] : v.refused) {
      table.rows.push_back({reason, Cell{std::to_string(n), static_cast<double>(n)}});
    }
    refused.blocks.emplace_back(std::move(table));
    out.sections.push_back(std::move(refused));
  }
  return out;
}

}  // namespace stepsight
