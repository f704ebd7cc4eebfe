// The machine's forms of money and of what cards are worth.
#include <array>
#include <utility>

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

// {"p5", "p50", "p95"}; null where an end or the figure is without bound.
Json interval(const std::optional<double>& p5,
              const std::optional<double>& p50,
              const std::optional<double>& p95) {
  return {{"p5", json_of(p5)}, {"p50", json_of(p50)}, {"p95", json_of(p95)}};
}

template <typename Figures, typename Range>
struct Intervals {
  const Figures& predicted;
  const Range& range;
  Json out = Json::object();
  void add(const char* key, double Figures::*figure) {
    out[key] = interval(range.p5.*figure, predicted.*figure, range.p95.*figure);
  }
  void add(const char* key, std::optional<double> Figures::*figure) {
    const std::optional<double>& low = range.p5.*figure;
    if (low) out[key] = interval(low, predicted.*figure, range.p95.*figure);
  }
};

Json intervals_of(const MarginalStep& s) {
  using F = MarginalFigures;
  if (!s.range) return nullptr;
  Intervals<F, MarginalRange> i{s, *s.range};
  i.add("samples_per_s_per_added_gpu", &F::throughput_per_gpu);
  i.add("share_of_first", &F::share_of_first);
  i.add("added_cost", &F::added_cost);
  i.add("days_saved", &F::days_saved);
  i.add("cost_per_day_saved", &F::cost_per_day);
  i.add("cost_per_added_million", &F::cost_per_added_million);
  i.add("payback_hours", &F::payback_hours);
  return i.out;
}

Json intervals_of(const Exchanged& e) {
  using F = ExchangedFigures;
  if (!e.range) return nullptr;
  Intervals<F, Exchanged::Range> i{e, *e.range};
  i.add("throughput_ratio", &F::throughput_ratio);
  i.add("cost_ratio", &F::cost_ratio);
  i.add("worth_per_hour", &F::worth_per_hour);
  i.add("worth_more_to_buy", &F::worth_more_to_buy);
  return i.out;
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
              {"life_hours", m.life_hours},
              {"price_missing", m.price_missing}};
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
                       {"worth_it", s.worth_it},
                       {"worth_it_probability", s.range ? Json(s.range->worth_it) : Json(nullptr)},
                       {"intervals", intervals_of(s)}});
    }
    const auto gpus = [&](std::size_t p) { return report.points[p].scenario.cluster.gpus; };
    Json one = {{"steps", std::move(steps)}, {"last_worth_gpus", gpus(line.last_worth)}};
    if (const auto& r = line.range) {
      one["last_worth_gpus_probability"] = r->same;
      one["intervals"]["last_worth_gpus"] = {
          {"p5", gpus(r->p5)}, {"p50", gpus(line.last_worth)}, {"p95", gpus(r->p95)}};
    }
    lines.push_back(std::move(one));
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
                      {"worth_more_to_buy", json_of(e.worth_more_to_buy)},
                      {"intervals", intervals_of(e)}});
    }
    if (!list.empty()) out[std::string("other_") + key + "s"] = std::move(list);
  }
  return out;
}

WorthCsv worth_csv(const PredictReport& report) {
  using F = MarginalFigures;
  const std::vector<MarginalLine> lines = marginal_lines(report.points, axes_of(report));
  if (lines.empty()) return {"", std::vector<std::string>(report.points.size())};
  constexpr std::array<std::pair<const char*, double F::*>, 2> always{
      {{"samples_per_s_per_added_gpu", &F::throughput_per_gpu},
       {"share_of_first", &F::share_of_first}}};
  constexpr std::array<std::pair<const char*, std::optional<double> F::*>, 5> priced{
      {{"added_cost", &F::added_cost},
       {"days_saved", &F::days_saved},
       {"cost_per_day_saved", &F::cost_per_day},
       {"cost_per_added_million", &F::cost_per_added_million},
       {"payback_hours", &F::payback_hours}}};
  WorthCsv out{",added_gpus,worth_it,worth_it_probability", {}};
  const auto name = [&](const char* figure) {
    out.header += fmt::format(",{0},{0}_p5,{0}_p95", figure);
  };
  for (const auto& figure : always) name(figure.first);
  for (const auto& figure : priced) name(figure.first);
  const std::size_t width = 3 * (1 + always.size() + priced.size());
  out.cells.assign(report.points.size(), std::string(width, ','));
  for (const MarginalLine& line : lines) {
    for (const MarginalStep& s : line.steps) {
      std::string& row = out.cells[s.to];
      row = fmt::format(",{},{},{}",
                        s.added_gpus,
                        s.worth_it ? "yes" : "no",
                        s.range ? fmt::format("{}", s.range->worth_it) : std::string());
      const auto add = [&](const std::optional<double>& x) {
        row += x ? fmt::format(",{}", *x) : std::string(",");
      };
      const auto all = [&](auto figure) {
        add(s.*figure);
        add(s.range ? std::optional<double>(s.range->p5.*figure) : std::nullopt);
        add(s.range ? std::optional<double>(s.range->p95.*figure) : std::nullopt);
      };
      for (const auto& figure : always) all(figure.second);
      for (const auto& figure : priced) all(figure.second);
    }
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
