// The machine's forms of money and of what cards are worth.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/money_report.h"
#include "reports/money_words.h"
#include "simulate/marginal.h"

namespace stepsight {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Figure& f) {
  return {{"value", f.value}, {"low", f.low}, {"high", f.high}};
}
Json json_of(const std::optional<Figure>& f) {
  return f ? json_of(*f) : Json(nullptr);
}
Json json_of(const std::optional<double>& f) {
  return f ? Json(*f) : Json(nullptr);
}
Json json_of(const std::optional<Spending>& s) {
  if (!s) return nullptr;
  return {{"per_hour", s->per_hour},
          {"per_step", json_of(s->per_step)},
          {"per_million", json_of(s->per_million)},
          {"per_run", json_of(s->per_run)}};
}

SweepAxes axes_of(const PredictReport& report) {
  return {report.axes, report.coordinates};
}

}  // namespace

Json money_json(const Scenario& scenario, const std::optional<Money>& money) {
  if (!money) return nullptr;
  const Money& m = *money;
  Json out = {{"currency", currency_of(scenario)},
              {"price_list", scenario.cost.list_title},
              {"run_s", json_of(m.run_s)},
              {"run_steps", json_of(m.steps)},
              {"goodput", m.goodput.share},
              {"checkpoint_interval_s", m.goodput.interval_s},
              {"mtbf_s", m.goodput.mtbf_s},
              {"power_kW", json_of(m.power_kW)},
              {"rent", json_of(m.rent)},
              {"own", json_of(m.own)},
              {"break_even_hours", json_of(m.break_even_hours)},
              {"life_hours", m.life_hours}};
  out["purchase"] = {{"total", m.purchase.total()},
                     {"cards", m.purchase.cards},
                     {"machines", m.purchase.machines},
                     {"bridges", m.purchase.bridges},
                     {"network", m.purchase.network},
                     {"facility", m.purchase.facility}};
  return out;
}

Json worth_json(const PredictReport& report) {
  Json lines = Json::array();
  for (const MarginalLine& line : marginal_lines(report.points, axes_of(report))) {
    Json steps = Json::array();
    for (const MarginalStep& s : line.steps) {
      steps.push_back({{"from_point", s.from},
                       {"to_point", s.to},
                       {"gpus", report.points[s.to].scenario.cluster.gpus},
                       {"added_gpus", s.added_gpus},
                       {"samples_per_s_per_added_gpu", s.throughput_per_gpu},
                       {"share_of_first", s.share_of_first},
                       {"added_cost", json_of(s.added_cost)},
                       {"days_saved", json_of(s.days_saved)},
                       {"cost_per_day_saved", json_of(s.cost_per_day)},
                       {"cost_per_added_million", json_of(s.cost_per_added_million)},
                       {"payback_hours", json_of(s.payback_hours)},
                       {"worth_it", s.worth_it}});
    }
    lines.push_back({{"steps", std::move(steps)},
                     {"last_worth_gpus", report.points[line.last_worth].scenario.cluster.gpus}});
  }
  Json out = {{"added_cards", std::move(lines)}};
  for (const char* key : {"link", "gpu"}) {
    Json list = Json::array();
    for (const Exchanged& e : exchanged(report.points, axes_of(report), key)) {
      list.push_back({{"from_point", e.from},
                      {"to_point", e.to},
                      {"throughput_ratio", e.throughput_ratio},
                      {"cost_ratio", json_of(e.cost_ratio)},
                      {"worth_per_hour", json_of(e.worth_per_hour)},
                      {"worth_more_to_buy", json_of(e.worth_more_to_buy)}});
    }
    if (!list.empty()) out[std::string("other_") + key + "s"] = std::move(list);
  }
  return out;
}

std::string money_csv_header() {
  return ",cost_per_hour,cost_per_step,cost_per_million,cost_per_run,run_s";
}

std::string money_csv_cells(const std::optional<Money>& money) {
  if (!money) return ",,,,,";
  const Money& m = *money;
  const Spending* s = m.cheaper();
  std::string out = ",,,,";
  if (s != nullptr) {
    out = fmt::format(",{},{},{},", s->per_hour, s->per_step.value, s->per_million.value);
  }
  if (s != nullptr && s->per_run) out += fmt::format("{}", s->per_run->value);
  out += ",";
  if (m.run_s) out += fmt::format("{}", m.run_s->value);
  return out;
}

}  // namespace stepsight
