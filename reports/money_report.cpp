#include "reports/money_report.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "reports/certainty.h"
#include "reports/money_words.h"
#include "reports/text_table.h"
#include "simulate/marginal.h"

namespace stepsight {

namespace {

std::string paragraph(const std::string& sentence) {
  return sentence.empty() ? "" : wrap(sentence) + "\n";
}

void add_way(TextTable& table, const std::string& name, const Spending& s) {
  table.rows.push_back({name,
                        format_amount(s.per_hour),
                        format_amount(s.per_step.value),
                        format_amount(s.per_million.value),
                        s.per_run ? format_amount(s.per_run->value) : "-"});
}

// What the step's interval makes of the last column.
std::string interval_line(const Money& m, const Scenario& scenario, const Words& words) {
  std::string list;
  const auto add = [&](const std::string& way, const Spending& s) {
    const Figure& f = s.per_run ? *s.per_run : s.per_million;
    if (!is_range(f)) return;
    if (!list.empty()) list += words.text("list.comma");
    list += words("money.way_range",
                  fmt::arg("way", way),
                  fmt::arg("from", format_amount(f.low)),
                  fmt::arg("to", format_amount(f.high)));
  };
  if (m.rent) add(words("money.rented"), *m.rent);
  if (m.own) add(own_words(scenario, words), *m.own);
  if (list.empty()) return "";
  const bool images = takes_images(scenario.model.family);
  return words("money.interval",
               fmt::arg("list", list),
               fmt::arg("what",
                        words(m.steps  ? "money.the_run"
                              : images ? "money.a_million_images"
                                       : "money.a_million_tokens")));
}

std::string purchase_line(const Money& m, const Scenario& scenario, const Words& words) {
  const Purchase& p = m.purchase;
  std::string parts = words("money.cards") + " " + format_amount(p.cards);
  const auto part = [&](const char* key, double sum) {
    if (sum > 0)
      parts.append(words.text("list.comma")).append(words(key) + " " + format_amount(sum));
  };
  part("money.machines", p.machines);
  part("money.bridges", p.bridges);
  part("money.network", p.network);
  part("money.facility", p.facility);
  std::string out = words("money.purchase",
                          fmt::arg("total", format_amount(p.total())),
                          fmt::arg("currency", currency_of(scenario)),
                          fmt::arg("parts", parts),
                          fmt::arg("hours", format_amount(m.life_hours)));
  const std::string pays = break_even_sentence(m, words);
  return pays.empty() ? out : out.append(words.text("sentence.gap")).append(pays);
}

SweepAxes axes_of(const PredictReport& report) {
  return {report.axes, report.coordinates};
}

// "batch = 4, link = x" of a point, without the axes that are compared along.
std::string place_of(const PredictReport& report,
                     std::size_t point,
                     std::string_view without,
                     const Words& words) {
  std::string out;
  for (std::size_t a = 0; a < report.axes.size(); ++a) {
    if (report.axes[a] == without) continue;
    if (!out.empty()) out += words.text("list.comma");
    out += report.axes[a] + " = " + report.coordinates[point][a];
  }
  return out;
}

// The ends of a line's figures, and in how many of the draws each card is worth it.
std::string ranges_text(const PredictReport& report, const MarginalLine& line, const Words& words) {
  if (!line.range) return "";
  using F = MarginalFigures;
  const Scenario& first = report.points[line.points.front()].scenario;
  const std::string currency = currency_of(first);
  const bool images = takes_images(first.model.family);
  const double each = images ? 1 : static_cast<double>(first.training.seq);
  const auto hours = [&](double h) { return span_words(h * 3600, words); };
  struct Column {
    std::string header;
    std::optional<double> F::*figure;
    int rank;
    std::function<std::string(double)> format;
  };
  std::vector<Column> columns{
      {words("worth.million", fmt::arg("currency", currency)),
       &F::cost_per_added_million,
       3,
       format_amount},
      {words("worth.days"), &F::days_saved, 4, format_amount},
      {words("worth.day", fmt::arg("currency", currency)), &F::cost_per_day, 2, format_amount},
      {words("worth.payback"), &F::payback_hours, 1, hours}};
  std::erase_if(columns, [&](const Column& c) {
    return std::ranges::none_of(
        line.steps, [&](const MarginalStep& s) { return (s.range->p5.*c.figure).has_value(); });
  });
  TextTable table;
  table.columns = {
      {"GPUs"}, {words(images ? "worth.images" : "worth.tokens")}, {words("worth.odds")}};
  for (const Column& c : columns) table.columns.push_back({c.header, Align::right, c.rank});
  for (const MarginalStep& s : line.steps) {
    const MarginalRange& r = *s.range;
    std::vector<std::string> row{
        words("range",
              fmt::arg("from", report.points[s.from].scenario.cluster.gpus),
              fmt::arg("to", report.points[s.to].scenario.cluster.gpus)),
        format_range(format_count(r.p5.throughput_per_gpu * each),
                     format_count(r.p95.throughput_per_gpu * each),
                     words),
        format_percent(r.worth_it, 0)};
    for (const Column& c : columns) {
      const std::optional<double>& low = r.p5.*c.figure;
      const std::optional<double>& high = r.p95.*c.figure;
      row.push_back(
          low ? format_range(c.format(*low), high ? c.format(*high) : words("worth.never"), words)
              : "-");
    }
    table.rows.push_back(std::move(row));
  }
  return paragraph(words("worth.interval")) + table.fitted();
}

std::string line_text(const PredictReport& report, const MarginalLine& line, const Words& words) {
  const Scenario& first = report.points[line.points.front()].scenario;
  const std::string currency = currency_of(first);
  const bool images = takes_images(first.model.family);
  const auto any = [&](auto figure) {
    return std::ranges::any_of(line.steps,
                               [&](const MarginalStep& s) { return (s.*figure).has_value(); });
  };
  const bool cost = any(&MarginalStep::cost_per_added_million);
  const bool days = any(&MarginalStep::cost_per_day);
  const bool payback = any(&MarginalStep::payback_hours);
  const auto amount = [](const std::optional<double>& f) {
    return f ? format_amount(*f) : std::string("-");
  };
  TextTable table;
  table.columns = {
      {"GPUs"}, {words(images ? "worth.images" : "worth.tokens")}, {words("worth.share")}};
  if (cost)
    table.columns.push_back(
        {words("worth.million", fmt::arg("currency", currency)), Align::right, 3});
  if (days) {
    table.columns.push_back({words("worth.days")});
    table.columns.push_back({words("worth.day", fmt::arg("currency", currency)), Align::right, 2});
  }
  if (payback) table.columns.push_back({words("worth.payback"), Align::right, 1});
  for (const MarginalStep& s : line.steps) {
    const Scenario& to = report.points[s.to].scenario;
    const double each = images ? 1 : static_cast<double>(to.training.seq);
    std::vector<std::string> row{
        words("range",
              fmt::arg("from", report.points[s.from].scenario.cluster.gpus),
              fmt::arg("to", to.cluster.gpus)),
        format_count(s.throughput_per_gpu * each),
        format_percent(s.share_of_first, 0)};
    if (cost) row.push_back(amount(s.cost_per_added_million));
    if (days) {
      row.push_back(amount(s.days_saved));
      row.push_back(amount(s.cost_per_day));
    }
    if (payback) row.push_back(s.payback_hours ? span_words(*s.payback_hours * 3600, words) : "-");
    table.rows.push_back(std::move(row));
  }
  const std::string place = place_of(report, line.points.front(), "gpus", words);
  std::string out =
      "\n" + paragraph(place.empty() ? words("worth.title")
                                     : words("worth.title_at", fmt::arg("place", place)));
  const std::string shown = table.fitted();
  out += shown + ranges_text(report, line, words);
  // Only what the table kept is explained.
  const std::string header = shown.substr(0, shown.find('\n'));
  const std::string day = words("worth.day", fmt::arg("currency", currency));
  if (header.find(day) != std::string::npos) {
    out += paragraph(words("worth.day_note", fmt::arg("currency", currency)));
  }
  if (header.find(words("worth.payback")) != std::string::npos)
    out += paragraph(words("worth.payback_note"));
  const std::int64_t last = report.points[line.last_worth].scenario.cluster.gpus;
  return out +
         paragraph(
             worth_sentence(first, last, line.last_worth == line.points.back(), days, words)) +
         paragraph(sure_sentence(report.points, line, words));
}

std::string exchanged_sentence(const PredictReport& report,
                               const Exchanged& e,
                               std::string_view key,
                               const Words& words) {
  const Scenario& from = report.points[e.from].scenario;
  const auto value = [&](std::size_t point) {
    const auto axis = std::ranges::find(report.axes, key) - report.axes.begin();
    return report.coordinates[point][static_cast<std::size_t>(axis)];
  };
  using F = ExchangedFigures;
  const auto ratio = [](double r) { return fmt::format("{:.2f}", r); };
  const auto end = [&](std::optional<double> F::*figure, bool high) -> std::optional<double> {
    return e.range ? (high ? e.range->p95 : e.range->p5).*figure : std::nullopt;
  };
  const auto ranged = [&](std::optional<double> F::*figure, auto format) {
    return with_range(*(e.*figure), end(figure, false), end(figure, true), words, format);
  };
  const auto of_throughput = [&](bool high) -> std::optional<double> {
    if (!e.range) return std::nullopt;
    return (high ? e.range->p95 : e.range->p5).throughput_ratio;
  };
  const std::string currency = currency_of(from);
  const std::string place = place_of(report, e.to, key, words);
  std::string out = words(
      place.empty() ? "exchange.throughput" : "exchange.throughput_at",
      fmt::arg("to", value(e.to)),
      fmt::arg("from", value(e.from)),
      fmt::arg("place", place),
      fmt::arg(
          "times",
          with_range(e.throughput_ratio, of_throughput(false), of_throughput(true), words, ratio)));
  if (e.cost_ratio) {
    out += words("exchange.cost",
                 fmt::arg("unit", unit_of_work(from, words)),
                 fmt::arg("times", ranged(&F::cost_ratio, ratio)));
  }
  if (e.worth_more_to_buy) {
    const double sign = *e.worth_more_to_buy < 0 ? -1 : 1;
    out += words(
        sign < 0 ? "exchange.buy_less" : "exchange.buy_more",
        fmt::arg("amount",
                 ranged(&F::worth_more_to_buy, [&](double x) { return format_amount(sign * x); })),
        fmt::arg("currency", currency));
  } else if (e.worth_per_hour) {
    out += words("exchange.hour",
                 fmt::arg("amount", ranged(&F::worth_per_hour, format_amount)),
                 fmt::arg("currency", currency));
  }
  for (const std::size_t point : {e.from, e.to}) {
    const StudyPoint& p = report.points[point];
    if (!p.money || !p.money->price_missing) continue;
    out += words("exchange.no_price", fmt::arg("gpu", p.scenario.cluster.gpu));
    break;
  }
  return out + words("sentence.stop");
}

std::string exchanged_text(const PredictReport& report, std::string_view key, const Words& words) {
  std::string out;
  for (const Exchanged& e : exchanged(report.points, axes_of(report), key)) {
    const auto fits = [&](std::size_t point) {
      return report.points[point].prediction.memory.fits;
    };
    if (fits(e.from) && fits(e.to)) out += paragraph(exchanged_sentence(report, e, key, words));
  }
  return out.empty() ? "" : "\n" + out;
}

}  // namespace

std::string money_section(const StudyPoint& point, const Words& words) {
  if (!point.money) return "";
  const Money& m = *point.money;
  const Scenario& s = point.scenario;
  std::string out = "\n";
  if (m.run_s) {
    out += paragraph(words("money.time",
                           fmt::arg("span", span_words(*m.run_s, words)),
                           fmt::arg("n", format_count(*m.steps))));
  }
  out += paragraph(failures_sentence(m, words));
  if (!m.rent && !m.own) return out + paragraph(missing_price_sentence(s, m, words));
  TextTable table;
  table.columns = {{words("money.cost_in", fmt::arg("currency", currency_of(s))), Align::left},
                   {words("money.hour")},
                   {words("money.step")},
                   {unit_of_work(s, words)},
                   {words("money.run")}};
  if (m.rent) add_way(table, words("money.rented"), *m.rent);
  if (m.own) add_way(table, own_words(s, words), *m.own);
  if (!m.steps) {
    table.columns.pop_back();
    for (auto& row : table.rows) row.pop_back();
  }
  out += table.text() + paragraph(interval_line(m, s, words));
  if (m.own && s.cost.gpu_price) out += paragraph(purchase_line(m, s, words));
  if (m.power_kW && s.cost.power_price_per_kWh) {
    out += paragraph(words("money.meter", fmt::arg("power", fmt::format("{:.3g}", *m.power_kW))));
  }
  return out + paragraph(list_sentence(s, words));
}

std::string worth_section(const PredictReport& report, const Words& words) {
  std::string out;
  for (const MarginalLine& line : marginal_lines(report.points, axes_of(report))) {
    out += line_text(report, line, words);
  }
  return out + exchanged_text(report, "link", words) + exchanged_text(report, "gpu", words);
}

}  // namespace stepsight
