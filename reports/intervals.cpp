#include "reports/intervals.h"

#include <array>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stepsight {

namespace {

using Json = nlohmann::ordered_json;

// A figure's name and its unit's ending, and its interval.
struct FigureInterval {
  const char* name;
  const char* unit;
  Quantiles q;
  bool of_trace = false;
  bool from_zero = false;  // communication that hides wholly has an interval, too

  [[nodiscard]] bool known() const { return from_zero || q.p50 > 0; }
};

Quantiles rate(const StudyPoint& p, double per_s) {
  const Quantiles& step = p.uncertainty.step;
  if (step.p5 <= 0 || per_s <= 0) return {};
  return rate_of(step, per_s * p.prediction.step.value);
}

std::vector<FigureInterval> of_prediction(const StudyPoint& p) {
  const Prediction& r = p.prediction;
  return {{"step_time", "_s", p.uncertainty.step, true},
          {"samples_per_s", "", rate(p, r.samples_per_s), true},
          {"tokens_per_s", "", rate(p, r.tokens_per_s)},
          {"mfu", "", rate(p, r.mfu)},
          {"exposed_communication", "_s", p.exposed_s, true, true}};
}

// In the order of their columns; those of scaling stand in objects of their own in JSON.
std::vector<FigureInterval> all(const StudyPoint& p, Figures figures) {
  std::vector<FigureInterval> out = of_prediction(p);
  const ScalingPoint strong = p.strong.value_or(ScalingPoint{});
  out.push_back({"weak_speedup", "", p.weak.speedup, true});
  out.push_back({"weak_efficiency", "", p.weak.efficiency, true});
  out.push_back({"strong_speedup", "", strong.speedup});
  out.push_back({"strong_efficiency", "", strong.efficiency});
  if (figures == Figures::of_trace)
    std::erase_if(out, [](const FigureInterval& i) { return !i.of_trace; });
  return out;
}

std::string ends(double low, double high) {
  return fmt::format(",{},{}", low, high);
}
constexpr const char* no_ends = ",,";

}  // namespace

Json quantiles_json(const Quantiles& q) {
  return {{"p5", q.p5}, {"p50", q.p50}, {"p95", q.p95}};
}

Json intervals_json(const StudyPoint& point, Figures figures) {
  Json out = Json::object();
  for (const FigureInterval& i : of_prediction(point)) {
    if (figures == Figures::of_trace && !i.of_trace) continue;
    if (i.known()) out[std::string(i.name) + i.unit] = quantiles_json(i.q);
  }
  return out;
}

Json scaling_json(const ScalingPoint& p) {
  Json out = {{"one_gpu_step_s", p.one_gpu.value},
              {"step_s", p.step.value},
              {"speedup", p.scaling.speedup},
              {"efficiency", p.scaling.efficiency}};
  if (p.speedup.p50 <= 0) return out;
  out["intervals"] = {{"one_gpu_step_s", quantiles_json(p.one_gpu_s)},
                      {"step_s", quantiles_json(p.step_s)},
                      {"speedup", quantiles_json(p.speedup)},
                      {"efficiency", quantiles_json(p.efficiency)}};
  return out;
}

Json uncertainty_json(const Uncertainty& u) {
  Json out = {{"log_sd", u.log_sd},
              {"measured_inputs_log_sd", u.parameter_log_sd},
              {"inside_calibration", u.inside_calibration},
              {"outside_calibration", u.outside},
              {"contributions", Json::array()}};
  constexpr std::array<std::string_view, 3> origins{
      "measured", "between measured sizes", "class value"};
  for (const Contribution& c : u.contributions) {
    out["contributions"].push_back({{"input", c.input},
                                    {"share", c.share},
                                    {"log_sd", c.log_sd},
                                    {"origin", origins[static_cast<std::size_t>(c.origin)]},
                                    {"measure_with", c.command}});
  }
  const Contribution* weakest = weakest_input(u);
  out["weakest_input"] = weakest != nullptr ? Json(weakest->input) : Json(nullptr);
  out["measure_first"] = weakest != nullptr ? Json(weakest->command) : Json(nullptr);
  return out;
}

std::string interval_csv_header(Figures figures) {
  std::string out;
  for (const FigureInterval& i : all({}, figures)) {
    out += fmt::format(",{0}_p5{1},{0}_p95{1}", i.name, i.unit);
  }
  return out;
}

std::string interval_csv_cells(const StudyPoint& point, Figures figures) {
  std::string out;
  const bool known = point.uncertainty.step.p50 > 0;
  for (const FigureInterval& i : all(point, figures)) {
    out += known && i.known() ? ends(i.q.p5, i.q.p95) : no_ends;
  }
  return out;
}

std::string money_interval_csv_header() {
  return ",cost_per_step_p5,cost_per_step_p95,cost_per_million_p5,cost_per_million_p95,cost_per_"
         "run_p5,"
         "cost_per_run_p95,run_p5_s,run_p95_s";
}

std::string money_interval_csv_cells(const std::optional<Money>& money) {
  const Spending* s = money ? money->cheaper() : nullptr;
  const auto cells = [](const Figure* f) { return f != nullptr ? ends(f->low, f->high) : no_ends; };
  const auto figure = [](const std::optional<Figure>& f) { return f ? &*f : nullptr; };
  return cells(s != nullptr ? &s->per_step : nullptr) +
         cells(s != nullptr ? &s->per_million : nullptr) +
         cells(s != nullptr ? figure(s->per_run) : nullptr) +
         cells(money ? figure(money->run_s) : nullptr);
}

}  // namespace stepsight
