#include "reports/sweep_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/intervals.h"
#include "reports/json_parts.h"
#include "reports/money_report.h"
#include "reports/predict_report.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

// Keys whose values stand in columns of their own; `name` is the model's.
constexpr std::array<std::string_view, 9> columns{
    "model", "name", "gpu", "gpus", "link", "batch", "seq", "accumulation", "precision"};

std::string quoted(const std::string& text) {
  return json_text(text, -1);
}

// A number or a truth value as it is, else in quotes.
std::string json_value(const std::string& text) {
  const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? text : quoted(text);
}

// The figures by name, in the order of the columns.
template <typename Each>
void each_figure(const QuickPrediction& r, Each each) {
  each("step_time_s", r.step.value);
  each("samples_per_s", r.samples_per_s);
  each("tokens_per_s", r.tokens_per_s);
  each("mfu", r.mfu);
  each("exposed_communication_s", r.exposed_s);
  each("communication_s", r.communication_s);
  each("peak_memory_bytes", r.needed_bytes);
}

constexpr std::string_view scaling_columns =
    ",weak_speedup,weak_efficiency,strong_speedup,strong_efficiency";

std::string scaling_cells(const StudyPoint& p) {
  const std::string weak = fmt::format(",{},{}", p.weak.scaling.speedup, p.weak.scaling.efficiency);
  if (!p.strong) return weak + ",,";
  return weak + fmt::format(",{},{}", p.strong->scaling.speedup, p.strong->scaling.efficiency);
}

}  // namespace

SweepRows::SweepRows(std::span<const std::string> axes, bool money, bool json, bool intervals)
    : axes_(axes.begin(), axes.end()), money_(money), json_(json), intervals_(intervals) {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (std::ranges::find(columns, axes_[i]) == columns.end()) further_.push_back(i);
  }
}

std::string SweepRows::header() const {
  if (json_) return "";
  std::string out = "point,";
  for (const std::size_t a : further_) out += axes_[a] + ",";
  out += "model,gpu,gpus,link,batch,seq,accumulation,precision";
  each_figure({}, [&](const char* name, double) { out += std::string(",") + name; });
  out += ",fits,bound_by";
  if (intervals_) out += std::string(scaling_columns) + interval_csv_header(Figures::of_model);
  if (money_) out += money_csv_header();
  if (money_ && intervals_) out += money_interval_csv_header();
  return out + "\n";
}

void SweepRows::append(std::string& out,
                       std::uint64_t index,
                       std::span<const std::string> values,
                       const Scenario& s,
                       const QuickPrediction& r,
                       const std::optional<Money>& money,
                       const StudyPoint* studied) const {
  auto to = std::back_inserter(out);
  const Training& t = s.training;
  if (!json_) {
    fmt::format_to(to, "{},", index);
    for (const std::size_t a : further_) fmt::format_to(to, "{},", csv_cell(values[a]));
    fmt::format_to(to,
                   "{},{},{},{},{},{},{},{}",
                   csv_cell(s.model.name),
                   csv_cell(s.cluster.gpu),
                   s.cluster.gpus,
                   csv_cell(s.cluster.link),
                   t.batch,
                   t.seq,
                   t.accumulation,
                   name_of(t.precision));
    each_figure(r, [&](const char*, double figure) { fmt::format_to(to, ",{}", figure); });
    fmt::format_to(to, ",{},{}", r.fits ? "yes" : "no", bound_by(r));
    if (studied != nullptr) {
      out += scaling_cells(*studied) + interval_csv_cells(*studied, Figures::of_model);
    }
    if (money_) out += money_csv_cells(money);
    if (money_ && studied != nullptr) out += money_interval_csv_cells(money);
    out += '\n';
    return;
  }
  fmt::format_to(to, "{{\"point\":{}", index);
  for (const std::size_t a : further_) {
    fmt::format_to(to, ",{}:{}", quoted(axes_[a]), json_value(values[a]));
  }
  fmt::format_to(to,
                 ",\"model\":{},\"gpu\":{},\"gpus\":{},\"link\":{},\"batch\":{},\"seq\":{},"
                 "\"accumulation\":{},\"precision\":\"{}\"",
                 quoted(s.model.name),
                 quoted(s.cluster.gpu),
                 s.cluster.gpus,
                 quoted(s.cluster.link),
                 t.batch,
                 t.seq,
                 t.accumulation,
                 name_of(t.precision));
  each_figure(
      r, [&](const char* name, double figure) { fmt::format_to(to, ",\"{}\":{}", name, figure); });
  fmt::format_to(to, ",\"fits\":{},\"bound_by\":\"{}\"", r.fits, bound_by(r));
  if (studied != nullptr) {
    out += ",\"weak\":" + json_text(scaling_json(studied->weak), -1);
    if (studied->strong) out += ",\"strong\":" + json_text(scaling_json(*studied->strong), -1);
    out += ",\"intervals\":" + json_text(intervals_json(*studied, Figures::of_model), -1);
  }
  if (money_) out += ",\"money\":" + json_text(money_json(s, money), -1);
  out += "}\n";
}

std::optional<std::uint64_t> point_of_row(std::string_view row) {
  constexpr std::string_view json = "{\"point\":";
  if (row.starts_with(json)) row.remove_prefix(json.size());
  std::uint64_t point = 0;
  const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), point);
  if (error != std::errc{} || end == row.data() + row.size() || *end != ',') return std::nullopt;
  return point;
}

}  // namespace stepsight
