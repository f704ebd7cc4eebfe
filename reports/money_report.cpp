#include "reports/money_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/text_table.h"
#include "simulate/marginal.h"

namespace stepsight {

namespace {

using Json = nlohmann::ordered_json;

std::string currency_of(const Scenario& s) {
  return s.cost.currency.empty() ? "USD" : s.cost.currency;
}

std::string unit_of_work(const Scenario& s) {
  return takes_images(s.model.family) ? "million images" : "million tokens";
}

bool is_range(const Figure& f) {
  return f.low < f.value || f.high > f.value;
}

// Seconds as a person plans: hours below two days.
std::string format_span(double seconds) {
  if (seconds < 2 * 86400) return fmt::format("{:.3g} hours", seconds / 3600);
  return fmt::format("{} days", format_amount(seconds / 86400));
}
std::string span(const Figure& f) {
  if (!is_range(f)) return format_span(f.value);
  return fmt::format("{} ({} to {})", format_span(f.value), format_span(f.low), format_span(f.high));
}

void add_way(TextTable& table, const char* name, const Spending& s) {
  table.rows.push_back({name,
                        format_amount(s.per_hour),
                        format_amount(s.per_step.value),
                        format_amount(s.per_million.value),
                        s.per_run ? format_amount(s.per_run->value) : "-"});
}

// What the step's interval makes of the last column.
std::string interval_line(const Money& m, const std::string& unit, bool bought) {
  std::string out;
  const auto add = [&](const char* name, const Spending& s) {
    const Figure& f = s.per_run ? *s.per_run : s.per_million;
    if (!is_range(f)) return;
    out += fmt::format("{}{} {} to {}", out.empty() ? "" : ", ", name, format_amount(f.low),
                       format_amount(f.high));
  };
  if (m.rent) add("rented", *m.rent);
  if (m.own) add(bought ? "bought" : "power alone", *m.own);
  if (out.empty()) return "";
  return wrap(fmt::format("With the interval of the step (90 %), {} costs {}.",
                          m.steps ? "the run" : "a " + unit, out)) + "\n";
}

std::string purchase_line(const Money& m, const std::string& currency) {
  const Purchase& p = m.purchase;
  std::string out = fmt::format("Buying it takes {} {}: cards {}", format_amount(p.total()), currency,
                                format_amount(p.cards));
  const auto part = [&](const char* name, double sum) {
    if (sum > 0) out += fmt::format(", {} {}", name, format_amount(sum));
  };
  part("machines", p.machines);
  part("bridges", p.bridges);
  part("network", p.network);
  part("rooms and cooling", p.facility);
  out += fmt::format("; written off over {} hours of training.", format_amount(m.life_hours));
  if (m.break_even_hours) {
    out += *m.break_even_hours <= m.life_hours
               ? fmt::format(" It is cheaper than renting after {} hours of training.",
                             format_amount(*m.break_even_hours))
               : fmt::format(" Renting is cheaper: buying would pay after {} hours of training.",
                             format_amount(*m.break_even_hours));
  } else if (m.rent && m.own) {
    out += " Renting is cheaper: it costs less than the power alone.";
  }
  return wrap(out) + "\n";
}

std::string failures_line(const Money& m) {
  const Goodput& g = m.goodput;
  if (g.mtbf_s <= 0) {
    if (g.share >= 1) return "";
    return wrap(fmt::format("Checkpoints leave {} of the time to training.",
                            format_percent(g.share))) + "\n";
  }
  return wrap(fmt::format("Something fails every {} hours; with a checkpoint after every {} "
                          "minutes of training {} of the time is kept training.",
                          format_amount(g.mtbf_s / 3600), format_amount(g.interval_s / 60),
                          format_percent(g.share))) +
         "\n";
}

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

// "batch = 4, link = x" of a point, without the axes that are compared along.
std::string place_of(const PredictReport& report, std::size_t point, std::string_view without) {
  std::string out;
  for (std::size_t a = 0; a < report.axes.size(); ++a) {
    if (report.axes[a] == without) continue;
    out += (out.empty() ? "" : ", ") + report.axes[a] + " = " + report.coordinates[point][a];
  }
  return out;
}

std::string line_text(const PredictReport& report, const MarginalLine& line) {
  const StudyPoint& first = report.points[line.points.front()];
  const std::string currency = currency_of(first.scenario);
  const bool images = takes_images(first.scenario.model.family);
  TextTable table;
  table.columns = {{"GPUs"}, {images ? "images/s more" : "tokens/s more"}, {"of the first"}};
  bool cost = false;
  bool days = false;
  for (const MarginalStep& s : line.steps) {
    cost = cost || s.cost_per_added_million.has_value();
    days = days || s.cost_per_day.has_value();
  }
  if (cost) table.columns.push_back({currency + "/M more", Align::right, 1});
  if (days) {
    table.columns.push_back({"days saved"});
    table.columns.push_back({currency + "/day", Align::right, 2});
  }
  for (const MarginalStep& s : line.steps) {
    const StudyPoint& to = report.points[s.to];
    const double each = images ? 1 : static_cast<double>(to.scenario.training.seq);
    std::vector<std::string> row{
        fmt::format("{} to {}", report.points[s.from].scenario.cluster.gpus,
                    to.scenario.cluster.gpus),
        format_count(s.throughput_per_gpu * each),
        format_percent(s.share_of_first, 0)};
    if (cost) row.push_back(s.cost_per_added_million ? format_amount(*s.cost_per_added_million) : "-");
    if (days) {
      row.push_back(s.days_saved ? format_amount(*s.days_saved) : "-");
      row.push_back(s.cost_per_day ? format_amount(*s.cost_per_day) : "-");
    }
    table.rows.push_back(std::move(row));
  }
  const std::string place = place_of(report, line.points.front(), "gpus");
  std::string out = "\nWhat each added card brings" + (place.empty() ? "" : " (" + place + ")");
  out = wrap(out) + "\n" + table.fitted();
  const std::int64_t last = report.points[line.last_worth].scenario.cluster.gpus;
  const bool by_day = first.scenario.cost.day_worth && days;
  const std::string rule =
      by_day ? fmt::format("a day saved is worth {} {}", format_amount(*first.scenario.cost.day_worth),
                           currency)
             : fmt::format("it should bring at least {} of what a first card does",
                           format_percent(least_share, 0));
  const bool all = line.last_worth == line.points.back();
  if (days) {
    out += wrap(currency + "/day: what a day costs by which the run ends earlier; below 0 more cards "
                           "make the run cheaper.") + "\n";
  }
  out += wrap(all ? fmt::format("Every added card up to {} is worth it, where {}.", last, rule)
                  : fmt::format("After {} cards the next is not worth it, where {}.", last, rule)) +
         "\n";
  return out;
}

std::string exchanged_text(const PredictReport& report, std::string_view key) {
  const std::vector<Exchanged> all = exchanged(report.points, axes_of(report), key);
  if (all.empty()) return "";
  const auto value = [&](std::size_t point) {
    for (std::size_t a = 0; a < report.axes.size(); ++a) {
      if (report.axes[a] == key) return report.coordinates[point][a];
    }
    return std::string();
  };
  std::string out;
  for (const Exchanged& e : all) {
    const StudyPoint& from = report.points[e.from];
    if (!from.prediction.memory.fits || !report.points[e.to].prediction.memory.fits) continue;
    const std::string place = place_of(report, e.to, key);
    std::string line = fmt::format("{} in place of {}{}: {:.2f} times the throughput", value(e.to),
                                   value(e.from), place.empty() ? "" : " (" + place + ")",
                                   e.throughput_ratio);
    if (e.cost_ratio) {
      line += fmt::format(", a {} for {:.2f} times the price", unit_of_work(from.scenario),
                          *e.cost_ratio);
    }
    const std::string currency = currency_of(from.scenario);
    if (e.worth_more_to_buy) {
      line += fmt::format("; it pays while buying it costs at most {} {} {}",
                          format_amount(std::abs(*e.worth_more_to_buy)), currency,
                          *e.worth_more_to_buy < 0 ? "less" : "more");
    } else if (e.worth_per_hour) {
      line += fmt::format("; it pays up to {} {} an hour", format_amount(*e.worth_per_hour), currency);
    }
    out += wrap(line + ".") + "\n";
  }
  return out.empty() ? "" : "\n" + out;
}

}  // namespace

std::string format_amount(double amount) {
  const double size = std::abs(amount);
  if (size == 0) return "0";
  if (size >= 1000) return format_count(amount);
  if (size >= 100) return fmt::format("{:.0f}", amount);
  if (size >= 10) return fmt::format("{:.1f}", amount);
  if (size >= 1) return fmt::format("{:.2f}", amount);
  return fmt::format("{:.3g}", amount);
}

std::string money_section(const StudyPoint& point) {
  if (!point.money) return "";
  const Money& m = *point.money;
  const Scenario& s = point.scenario;
  const std::string currency = currency_of(s);
  std::string out = "\n";
  if (m.run_s) {
    out += wrap(fmt::format("Time to train: {} for {} steps.", span(*m.run_s), format_count(*m.steps))) +
           "\n";
  }
  out += failures_line(m);
  if (!m.rent && !m.own) return out;
  TextTable table;
  table.columns = {{"cost in " + currency, Align::left}, {"an hour"}, {"a step"},
                   {unit_of_work(s)}, {"the run"}};
  if (m.rent) add_way(table, "rented", *m.rent);
  if (m.own) add_way(table, s.cost.gpu_price ? "bought" : "power alone", *m.own);
  if (!m.steps) table.columns.pop_back();
  if (!m.steps) {
    for (auto& row : table.rows) row.pop_back();
  }
  out += table.text() + interval_line(m, unit_of_work(s), s.cost.gpu_price.has_value());
  if (m.own && s.cost.gpu_price) out += purchase_line(m, currency);
  if (m.power_kW && s.cost.power_price_per_kWh) {
    out += wrap(fmt::format("Power: {:.3g} kW at the meter while it trains.", *m.power_kW)) + "\n";
  }
  if (!s.cost.list_title.empty()) {
    out += wrap("Prices that the scenario does not give are those of the list \"" + s.cost.list +
                "\": " + s.cost.list_title + ".") + "\n";
  }
  return out;
}

std::string worth_section(const PredictReport& report) {
  std::string out;
  const bool any_money = report.points.front().money.has_value();
  if (any_money) {
    for (const MarginalLine& line : marginal_lines(report.points, axes_of(report))) {
      out += line_text(report, line);
    }
  }
  if (any_money) out += exchanged_text(report, "link") + exchanged_text(report, "gpu");
  return out;
}

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
