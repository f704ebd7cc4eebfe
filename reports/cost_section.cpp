// What a run costs, when buying pays, and up to how many cards the next one does.
#include <algorithm>
#include <array>

#include "reports/money_words.h"
#include "reports/scenario_page.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

// The ways to pay that a scenario has prices for.
struct Way {
  const char* key;  // in JSON
  std::optional<Spending> Money::*spending;
  std::string name;
};

std::vector<Way> ways_of(const StudyPoint& p, const Words& words) {
  std::vector<Way> out;
  if (p.money->rent) out.push_back({"rent", &Money::rent, words("money.rented")});
  if (p.money->own) out.push_back({"own", &Money::own, own_words(p.scenario, words)});
  return out;
}

Cell amount_cell(double amount) {
  return {format_amount(amount), amount};
}
Cell amount_cell(const std::optional<double>& amount) {
  return amount ? amount_cell(*amount) : Cell("-");
}

bool images(const StudyPoint& p) {
  return takes_images(p.scenario.model.family);
}

// The cheaper way's answer: the run where its length is known, else a million tokens.
std::string summary(const StudyPoint& p, const Words& words) {
  const Money& m = *p.money;
  const Spending& s = *m.cheaper();
  const Figure& f = s.per_run ? *s.per_run : s.per_million;
  const char* what = s.per_run   ? "cost.The_run"
                     : images(p) ? "cost.A_million_images"
                                 : "cost.A_million_tokens";
  const bool rents = m.rent && &s == &*m.rent;
  return words("cost.sum",
               fmt::arg("what", words(what)),
               fmt::arg("way", rents ? words("money.rented") : own_words(p.scenario, words)),
               fmt::arg("value", format_amount(f.value)),
               fmt::arg("currency", currency_of(p.scenario)),
               fmt::arg("from", format_amount(f.low)),
               fmt::arg("to", format_amount(f.high)));
}

DocTable figures_table(const StudyPoint& p, const Words& words) {
  DocTable out{"cost",
               "",
               {{"figure", words("column.figure"), false},
                {"value", words("column.value"), true},
                {"p5", words("column.from"), true},
                {"p95", words("column.to"), true}},
               {}};
  const auto add = [&](const std::string& name, const Figure& f, auto cell) {
    std::vector<Cell> row{name, cell(f.value), Cell(), Cell()};
    if (is_range(f)) {
      row[2] = cell(f.low);
      row[3] = cell(f.high);
    }
    out.rows.push_back(std::move(row));
  };
  const auto amount = [](double v) { return amount_cell(v); };
  if (p.money->run_s) {
    add(words("cost.time"), *p.money->run_s, [&](double s) {
      return Cell{span_words(s, words), s};
    });
  }
  for (const Way& way : ways_of(p, words)) {
    const Spending& s = *((*p.money).*way.spending);
    const auto name = [&](const std::string& what) {
      return words("cost.row", fmt::arg("what", what), fmt::arg("way", way.name));
    };
    add(name(words("money.hour")), {s.per_hour, s.per_hour, s.per_hour}, amount);
    add(name(words("money.step")), s.per_step, amount);
    add(name(words(images(p) ? "money.a_million_images" : "money.a_million_tokens")),
        s.per_million,
        amount);
    if (s.per_run) add(name(words("money.the_run")), *s.per_run, amount);
  }
  return out;
}

DocTable purchase_table(const Purchase& p, const Words& words) {
  DocTable out{"purchase",
               words("cost.purchase"),
               {{"part", words("column.part"), false}, {"amount", words("cost.amount"), true}},
               {}};
  const std::array<std::pair<const char*, double>, 6> parts{{{"money.cards", p.cards},
                                                             {"money.machines", p.machines},
                                                             {"money.bridges", p.bridges},
                                                             {"money.network", p.network},
                                                             {"money.facility", p.facility},
                                                             {"money.total", p.total()}}};
  for (const auto& [key, sum] : parts) {
    if (sum > 0) out.rows.push_back({words(key), amount_cell(sum)});
  }
  return out;
}

// What a million tokens cost on each number of GPUs: the chart, and the table behind it.
void add_counts(Section& out, const std::vector<StudyPoint>& counts, const Words& words) {
  const StudyPoint& first = counts.front();
  const std::string currency = currency_of(first.scenario);
  Chart chart{.id = "cost_chart",
              .title = words(images(first) ? "cost.chart_images" : "cost.chart",
                             fmt::arg("currency", currency)),
              .kind = ChartKind::lines,
              .x_title = "GPUs",
              .y_title = currency,
              .unit = {},
              .categories = {},
              .x = {},
              .series = {},
              .labels = {}};
  DocTable table{"cost_by_gpus", "", {{"gpus", "GPUs", true}}, {}};
  const bool runs = first.money->run_s.has_value();
  if (runs) table.columns.push_back({"run_s", words("cost.time"), true});
  const std::vector<Way> ways = ways_of(first, words);
  for (const Way& way : ways) {
    const std::string key = way.key;
    const std::string million =
        words(images(first) ? "money.million_images" : "money.million_tokens");
    table.columns.push_back(
        {key + "_per_million",
         words("cost.row", fmt::arg("what", million), fmt::arg("way", way.name)),
         true});
    table.columns.push_back({key + "_per_million_p5", words("column.from"), true});
    table.columns.push_back({key + "_per_million_p95", words("column.to"), true});
    if (runs) {
      table.columns.push_back(
          {key + "_per_run",
           words("cost.row", fmt::arg("what", words("money.run")), fmt::arg("way", way.name)),
           true});
    }
    chart.series.push_back({key, way.name, {}, {}, {}, false});
  }
  for (const StudyPoint& p : counts) {
    const std::int64_t gpus = p.scenario.cluster.gpus;
    chart.categories.push_back(std::to_string(gpus));
    chart.x.push_back(static_cast<double>(gpus));
    std::vector<Cell> row{Cell{std::to_string(gpus), static_cast<double>(gpus)}};
    if (runs) row.emplace_back(span_words(p.money->run_s->value, words), p.money->run_s->value);
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const Spending& s = *((*p.money).*ways[w].spending);
      chart.series[w].values.emplace_back(s.per_million.value);
      chart.series[w].low.push_back(s.per_million.low);
      chart.series[w].high.push_back(s.per_million.high);
      row.push_back(amount_cell(s.per_million.value));
      row.push_back(amount_cell(s.per_million.low));
      row.push_back(amount_cell(s.per_million.high));
      if (runs) row.push_back(amount_cell(s.per_run->value));
    }
    table.rows.push_back(std::move(row));
  }
  out.blocks.emplace_back(std::move(chart));
  out.blocks.emplace_back(std::move(table));
}

// The ends of what each added card brings, a pair of columns a figure.
DocTable ranges_table(const std::vector<StudyPoint>& counts,
                      const MarginalLine& line,
                      const Words& words) {
  using F = MarginalFigures;
  const StudyPoint& first = counts.front();
  const std::string currency = currency_of(first.scenario);
  const double each = images(first) ? 1 : static_cast<double>(first.scenario.training.seq);
  DocTable out{"next_cards_range",
               words("worth.interval"),
               {{"from_gpus", words("worth.from_gpus"), true},
                {"to_gpus", words("worth.to_gpus"), true},
                {"worth_it_probability", words("worth.odds"), true}},
               {}};
  const auto percent = [](double f) { return Cell{format_percent(f, 0), f}; };
  const auto count = [](double n) { return Cell{format_count(n), n}; };
  for (const MarginalStep& s : line.steps) {
    const auto gpus = [&](std::size_t p) {
      return static_cast<double>(counts[p].scenario.cluster.gpus);
    };
    out.rows.push_back({count(gpus(s.from)), count(gpus(s.to)), percent(s.range->worth_it)});
  }
  const auto add = [&](const std::string& key, const std::string& what, auto cells) {
    for (const bool high : {false, true}) {
      const std::string end = words(high ? "column.to" : "column.from");
      out.columns.push_back({key + (high ? "_p95" : "_p5"),
                             words("worth.end", fmt::arg("what", what), fmt::arg("end", end)),
                             true});
      for (std::size_t i = 0; i < line.steps.size(); ++i) {
        const MarginalRange& r = *line.steps[i].range;
        out.rows[i].push_back(cells(high ? r.p95 : r.p5));
      }
    }
  };
  add(images(first) ? "images_per_s_per_added_gpu" : "tokens_per_s_per_added_gpu",
      words(images(first) ? "worth.images" : "worth.tokens"),
      [&](const F& f) { return count(f.throughput_per_gpu * each); });
  add("share_of_first", words("worth.share"), [&](const F& f) {
    return percent(f.share_of_first);
  });
  const auto add_known =
      [&](const char* key, const std::string& what, std::optional<double> F::*figure, auto cell) {
        const auto known = [&](const MarginalStep& s) { return (s.range->p5.*figure).has_value(); };
        if (std::none_of(line.steps.begin(), line.steps.end(), known)) return;
        add(key, what, [&](const F& f) { return f.*figure ? cell(*(f.*figure)) : Cell("-"); });
      };
  const auto amount = [](double a) { return amount_cell(a); };
  add_known("cost_per_added_million",
            words("worth.million", fmt::arg("currency", currency)),
            &F::cost_per_added_million,
            amount);
  add_known("days_saved", words("worth.days"), &F::days_saved, amount);
  add_known("cost_per_day_saved",
            words("worth.day", fmt::arg("currency", currency)),
            &F::cost_per_day,
            amount);
  add_known("payback_hours", words("worth.payback"), &F::payback_hours, [&](double h) {
    return Cell{span_words(h * 3600, words), h};
  });
  return out;
}

// What each added card brings, and after how many it is not worth it.
void add_worth(Section& out,
               const std::vector<StudyPoint>& counts,
               std::int64_t own,
               const Words& words) {
  const std::vector<std::string> axes{"gpus"};
  std::vector<std::vector<std::string>> at;
  for (const StudyPoint& p : counts) at.push_back({std::to_string(p.scenario.cluster.gpus)});
  const std::vector<MarginalLine> lines = marginal_lines(counts, {axes, at});
  if (lines.empty()) return;
  const MarginalLine& line = lines.front();
  const StudyPoint& first = counts.front();
  const std::string currency = currency_of(first.scenario);
  DocTable table{
      "next_cards",
      words("worth.title"),
      {{"from_gpus", words("worth.from_gpus"), true},
       {"to_gpus", words("worth.to_gpus"), true},
       {images(first) ? "images_per_s_per_added_gpu" : "tokens_per_s_per_added_gpu",
        words(images(first) ? "worth.images" : "worth.tokens"),
        true},
       {"share_of_first", words("worth.share"), true},
       {"cost_per_added_million", words("worth.million", fmt::arg("currency", currency)), true},
       {"days_saved", words("worth.days"), true},
       {"cost_per_day_saved", words("worth.day", fmt::arg("currency", currency)), true},
       {"payback_hours", words("worth.payback"), true},
       {"worth_it", words("worth.worth"), false}},
      {}};
  bool days = false;
  bool payback = false;
  const auto gpus = [&](std::size_t i) { return counts[i].scenario.cluster.gpus; };
  const auto count_cell = [](std::int64_t n) {
    return Cell{std::to_string(n), static_cast<double>(n)};
  };
  for (const MarginalStep& s : line.steps) {
    const double each = images(first) ? 1 : static_cast<double>(first.scenario.training.seq);
    const double more = s.throughput_per_gpu * each;
    days = days || s.days_saved;
    payback = payback || s.payback_hours;
    table.rows.push_back({count_cell(gpus(s.from)),
                          count_cell(gpus(s.to)),
                          Cell{format_count(more), more},
                          Cell{format_percent(s.share_of_first, 0), s.share_of_first},
                          amount_cell(s.cost_per_added_million),
                          amount_cell(s.days_saved),
                          amount_cell(s.cost_per_day),
                          s.payback_hours
                              ? Cell{span_words(*s.payback_hours * 3600, words), *s.payback_hours}
                              : Cell("-"),
                          words(s.worth_it ? "yes" : "no")});
  }
  const bool last = line.last_worth == line.points.back();
  const std::string verdict =
      worth_sentence(first.scenario, gpus(line.last_worth), last, days, words);
  out.blocks.emplace_back(Paragraph{verdict, true});
  if (line.range) out.blocks.emplace_back(Paragraph{sure_sentence(counts, line, words), true});
  out.blocks.emplace_back(std::move(table));
  if (line.range) out.blocks.emplace_back(ranges_table(counts, line, words));
  if (payback) out.blocks.emplace_back(Paragraph{words("worth.payback_note")});
  if (days)
    out.blocks.emplace_back(Paragraph{words("worth.day_note", fmt::arg("currency", currency))});
  if (gpus(line.points.back()) > own) {
    out.blocks.emplace_back(Paragraph{words("cost.beyond", fmt::arg("n", own))});
  }
}

}  // namespace

Section cost_section(const StudyPoint& point,
                     const std::vector<StudyPoint>& counts,
                     const Words& words) {
  Section out{"cost", words("section.cost"), {}};
  const auto say = [&](std::initializer_list<std::string> sentences) {
    std::string text;
    for (const std::string& sentence : sentences) {
      if (!text.empty() && !sentence.empty()) text += words.text("sentence.gap");
      text += sentence;
    }
    if (!text.empty()) out.blocks.emplace_back(Paragraph{text});
  };
  if (!point.money || point.money->cheaper() == nullptr) {
    if (point.money) out.blocks.emplace_back(figures_table(point, words));
    if (point.money && point.money->price_missing) {
      say({missing_price_sentence(point.scenario, *point.money, words)});
    } else {
      say({words("cost.none")});
    }
    return out;
  }
  const Money& m = *point.money;
  const Prices& prices = point.scenario.cost;
  out.blocks.emplace_back(Paragraph{summary(point, words), true});
  say({words("cost.amounts", fmt::arg("currency", currency_of(point.scenario))),
       list_sentence(point.scenario, words)});
  out.blocks.emplace_back(figures_table(point, words));
  const bool metered = m.power_kW && prices.power_price_per_kWh;
  say({failures_sentence(m, words),
       metered ? words("money.meter", fmt::arg("power", fmt::format("{:.3g}", *m.power_kW))) : ""});
  if (prices.gpu_price) {
    out.blocks.emplace_back(purchase_table(m.purchase, words));
    say({words("cost.written_off", fmt::arg("hours", format_amount(m.life_hours))),
         break_even_sentence(m, words)});
  }
  std::vector<StudyPoint> possible;
  for (const StudyPoint& p : counts) {
    if (p.money && p.prediction.memory.fits) possible.push_back(p);
  }
  if (possible.size() < 2) return out;
  add_worth(out, possible, point.scenario.cluster.gpus, words);
  add_counts(out, possible, words);
  return out;
}

}  // namespace stepsight
