#include "reports/certainty.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/question.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

constexpr double worth_naming = 0.1;  // share of the variance

std::string seconds(const Quantiles& q, const Words& words) {
  return format_range(format_seconds(q.p5), format_seconds(q.p95), words);
}

// To three digits: more would not be true.
double rounded(double value) {
  if (!(value > 0)) return value;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / unit) * unit;
}

std::string counts(const Quantiles& q, const Words& words) {
  return format_range(format_count(rounded(q.p5)), format_count(rounded(q.p95)), words);
}

std::string factors(const Quantiles& q, const Words& words) {
  return format_range(fmt::format("{:.2f}", q.p5), fmt::format("{:.2f}x", q.p95), words);
}

std::string percents(const Quantiles& q, const Words& words) {
  return format_range(format_percent(q.p5, 0), format_percent(q.p95, 0), words);
}

bool has_axis(const PredictReport& report, std::string_view key) {
  return std::ranges::find(report.axes, key) != report.axes.end();
}

const char* cause_key(InputOrigin origin) {
  switch (origin) {
    case InputOrigin::class_value:
      return "certainty.cause_class";
    case InputOrigin::between_measured:
      return "certainty.cause_between";
    case InputOrigin::measured:
      break;
  }
  return "certainty.cause";
}

std::vector<std::string> figures(const StudyPoint& p,
                                 bool scales,
                                 bool images,
                                 const Words& words) {
  const Prediction& r = p.prediction;
  const double work = (images ? r.samples_per_s : r.tokens_per_s) * r.step.value;
  std::vector<std::string> out{seconds(p.uncertainty.step, words),
                               counts(rate_of(p.uncertainty.step, work), words)};
  if (!scales) return out;
  const bool alone = p.scenario.cluster.gpus == 1;
  out.push_back(alone ? "-" : factors(p.weak.speedup, words));
  out.push_back(alone ? "-" : percents(p.weak.efficiency, words));
  out.push_back(alone || !p.strong ? "-" : factors(p.strong->speedup, words));
  return out;
}

}  // namespace

std::string format_range(const std::string& low, const std::string& high, const Words& words) {
  const std::size_t blank = low.rfind(' ');
  const bool same = blank != std::string::npos && high.size() > low.size() - blank &&
                    high.ends_with(low.substr(blank));
  return words("range", fmt::arg("from", same ? low.substr(0, blank) : low), fmt::arg("to", high));
}

std::string input_words(std::string_view input, const Words& words) {
  return words("inputs." + std::string(input));
}

std::string outside_words(std::string_view inputs, const Words& words) {
  std::string out;
  while (!inputs.empty()) {
    const std::string_view input = inputs.substr(0, inputs.find(", "));
    inputs.remove_prefix(std::min(inputs.size(), input.size() + 2));
    if (!out.empty()) out += words.text("list.comma");
    out += input_words(input, words);
  }
  return out;
}

std::string intervals_table(const PredictReport& report, const Words& words) {
  if (report.points.front().uncertainty.step.p50 <= 0) return "";
  bool scales = false;
  Taken taken;
  for (const StudyPoint& p : report.points) {
    scales = scales || p.scenario.cluster.gpus > 1;
    taken.add(p.scenario);
  }
  TextTable table;
  const bool add_gpus = !has_axis(report, "gpus");
  if (add_gpus) table.columns.push_back({"GPUs"});
  for (const std::string& axis : report.axes) {
    table.columns.push_back({axis_words(axis, words)});
  }
  table.columns.push_back({words("column.step")});
  table.columns.push_back({std::string(words.text(taken.column())), Align::right, 2});
  if (scales) {
    table.columns.push_back({words("column.weak")});
    table.columns.push_back({words("column.weak_efficiency"), Align::right, 1});
    table.columns.push_back({words("column.strong"), Align::right, 3});
  }
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const StudyPoint& p = report.points[i];
    std::vector<std::string> row;
    if (add_gpus) row.push_back(std::to_string(p.scenario.cluster.gpus));
    for (const std::string& value : report.coordinates[i]) row.push_back(value);
    for (std::string& cell : figures(p, scales, taken.only_images(), words))
      row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  return "\n" + wrap(words("certainty.title")) + "\n" + table.fitted();
}

std::string certainty(const Uncertainty& u, const Words& words) {
  if (u.step.p50 <= 0) return "";
  std::string causes;
  for (const Contribution& c : u.contributions) {
    if (c.share < worth_naming) continue;
    if (!causes.empty()) causes += words.text("list.semicolon");
    causes += words(cause_key(c.origin),
                    fmt::arg("input", input_words(c.input, words)),
                    fmt::arg("share", format_percent(c.share, 0)));
  }
  std::string out = "\n" + wrap(words("certainty.causes", fmt::arg("causes", causes))) + "\n";
  if (const Contribution* weakest = weakest_input(u)) {
    out += wrap(words("certainty.weakest", fmt::arg("input", input_words(weakest->input, words)))) +
           "\n" + wrap("  " + weakest->command) + "\n";
  }
  out += wrap(u.inside_calibration
                  ? words("certainty.inside")
                  : words("certainty.outside", fmt::arg("what", outside_words(u.outside, words)))) +
         "\n";
  return out;
}

}  // namespace stepsight
