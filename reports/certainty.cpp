#include "reports/certainty.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/text_table.h"

namespace stepsight {

namespace {

constexpr double worth_naming = 0.1;  // share of the variance

std::string seconds(const Quantiles& q) {
  return format_range(format_seconds(q.p5), format_seconds(q.p95));
}

// To three digits: more would not be true.
double rounded(double value) {
  if (!(value > 0)) return value;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / unit) * unit;
}

std::string counts(const Quantiles& q) {
  return format_range(format_count(rounded(q.p5)), format_count(rounded(q.p95)));
}

std::string factors(const Quantiles& q) {
  return fmt::format("{:.2f} to {:.2f}x", q.p5, q.p95);
}

std::string percents(const Quantiles& q) {
  return format_range(format_percent(q.p5, 0), format_percent(q.p95, 0));
}

bool has_axis(const PredictReport& report, std::string_view key) {
  return std::ranges::find(report.axes, key) != report.axes.end();
}

std::string origin(const Contribution& c) {
  switch (c.origin) {
    case InputOrigin::class_value: return ", class value";
    case InputOrigin::between_measured: return ", between measured sizes";
    case InputOrigin::measured: break;
  }
  return "";
}

std::vector<std::string> figures(const StudyPoint& p, bool scales, bool images) {
  const Prediction& r = p.prediction;
  const double work = (images ? r.samples_per_s : r.tokens_per_s) * r.step.value;
  std::vector<std::string> out{seconds(p.uncertainty.step),
                               counts(rate_of(p.uncertainty.step, work))};
  if (!scales) return out;
  const bool alone = p.scenario.cluster.gpus == 1;
  out.push_back(alone ? "-" : factors(p.weak.speedup));
  out.push_back(alone ? "-" : percents(p.weak.efficiency));
  out.push_back(alone || !p.strong ? "-" : factors(p.strong->speedup));
  return out;
}

}  // namespace

std::string format_range(const std::string& low, const std::string& high) {
  const std::size_t blank = low.rfind(' ');
  const bool same = blank != std::string::npos && high.size() > low.size() - blank &&
                    high.ends_with(low.substr(blank));
  return (same ? low.substr(0, blank) : low) + " to " + high;
}

std::string intervals_table(const PredictReport& report) {
  if (report.points.front().uncertainty.step.p50 <= 0) return "";
  bool scales = false, images = true;
  for (const StudyPoint& p : report.points) {
    scales = scales || p.scenario.cluster.gpus > 1;
    images = images && takes_images(p.scenario.model.family);
  }
  TextTable table;
  const bool add_gpus = !has_axis(report, "gpus");
  if (add_gpus) table.columns.push_back({"GPUs"});
  for (const std::string& axis : report.axes) {
    table.columns.push_back({axis == "gpus" ? "GPUs" : axis == "name" ? "model" : axis});
  }
  table.columns.push_back({"step"});
  table.columns.push_back({images ? "images/s" : "tokens/s", Align::right, 2});
  if (scales) {
    table.columns.push_back({"weak"});
    table.columns.push_back({"eff.", Align::right, 1});
    table.columns.push_back({"strong", Align::right, 3});
  }
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const StudyPoint& p = report.points[i];
    std::vector<std::string> row;
    if (add_gpus) row.push_back(std::to_string(p.scenario.cluster.gpus));
    for (const std::string& value : report.coordinates[i]) row.push_back(value);
    for (std::string& cell : figures(p, scales, images)) row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  return "\nHow sure: nine of ten such trainings lie between\n" + table.fitted();
}

std::string certainty(const Uncertainty& u) {
  if (u.step.p50 <= 0) return "";
  std::string causes;
  for (const Contribution& c : u.contributions) {
    if (c.share < worth_naming) continue;
    causes += (causes.empty() ? "" : "; ") + c.input +
              fmt::format(" ({}{})", format_percent(c.share, 0), origin(c));
  }
  std::string out = "\n" + wrap("What makes it unsure, of the variance: " + causes + ".") + "\n";
  if (const Contribution* weakest = weakest_input(u)) {
    out += wrap(fmt::format("Least sure is {}; what narrows the answer most:", weakest->input)) + "\n" +
           wrap("  " + weakest->command) + "\n";
  }
  out += wrap(u.inside_calibration
                  ? "The question lies inside what was calibrated."
                  : "The question lies outside what was calibrated: " + u.outside + ".") +
         "\n";
  return out;
}

}  // namespace stepsight
