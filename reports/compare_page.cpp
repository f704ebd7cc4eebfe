#include "reports/compare_page.h"

#include <functional>

#include "reports/money_words.h"
#include "reports/question.h"
#include "reports/scenario_page.h"
#include "reports/text_table.h"
#include "reports/verdict.h"

namespace stepsight {

namespace {

using Show = std::function<std::string(double)>;

// What the cheaper way of each costs, where both have prices in one currency.
template <typename Add>
void add_costs(const Add& add, const StudyPoint& a, const StudyPoint& b, const Words& words) {
  const Spending* x = a.money ? a.money->cheaper() : nullptr;
  const Spending* y = b.money ? b.money->cheaper() : nullptr;
  const std::string currency = currency_of(a.scenario);
  if (x == nullptr || y == nullptr || currency != currency_of(b.scenario)) return;
  const Show amount = [&](double v) { return format_amount(v) + " " + currency; };
  const bool images = takes_images(a.scenario.model.family);
  add(words(images ? "cost.A_million_images" : "cost.A_million_tokens"),
      x->per_million.value,
      y->per_million.value,
      amount);
  if (x->per_run && y->per_run)
    add(words("cost.The_run"), x->per_run->value, y->per_run->value, amount);
}

Section figures_section(const ComparedScenario& a, const ComparedScenario& b, const Words& words) {
  Section out{"compared", words("section.compared"), {}};
  DocTable table{"compared",
                 "",
                 {{"figure", words("column.figure"), false},
                  {"first", words("column.first"), true},
                  {"second", words("column.second"), true},
                  {"change", words("column.change"), true}},
                 {}};
  const auto add = [&](const std::string& name, double x, double y, const Show& show) {
    const double change = x != 0 ? y / x - 1 : 0;
    table.rows.push_back(
        {name,
         Cell{show(x), x},
         Cell{show(y), y},
         x != 0 ? Cell{fmt::format("{:+.1f} %", 100 * change), change} : Cell("-")});
  };
  const Prediction& p = a.point.prediction;
  const Prediction& q = b.point.prediction;
  const auto times = [](double v) { return fmt::format("{:.2f}x", v); };
  const auto percent = [](double v) { return format_percent(v, 0); };
  add("GPUs",
      static_cast<double>(a.point.scenario.cluster.gpus),
      static_cast<double>(b.point.scenario.cluster.gpus),
      format_count);
  add(words("figure.step"), p.step.value, q.step.value, format_seconds);
  const bool images = takes_images(a.point.scenario.model.family);
  add(words(images ? "figure.images" : "figure.tokens"),
      images ? p.samples_per_s : p.tokens_per_s,
      images ? q.samples_per_s : q.tokens_per_s,
      format_count);
  add(words("figure.weak"), a.point.weak.scaling.speedup, b.point.weak.scaling.speedup, times);
  if (a.point.strong && b.point.strong) {
    add(words("figure.strong"),
        a.point.strong->scaling.speedup,
        b.point.strong->scaling.speedup,
        times);
  }
  add(words("figure.mfu"), p.mfu, q.mfu, percent);
  add(words("figure.exposed"), p.exposed_s, q.exposed_s, format_seconds);
  add(words("figure.memory"), p.memory.needed, q.memory.needed, format_bytes);
  add_costs(add, a.point, b.point, words);
  out.blocks.emplace_back(
      Paragraph{words("compare.note", fmt::arg("first", a.name), fmt::arg("second", b.name))});
  out.blocks.emplace_back(std::move(table));
  return out;
}

// The sections of one scenario, with ids of their own.
void add_sections(Document& out,
                  const ComparedScenario& s,
                  const std::string& which,
                  const Words& words) {
  const std::string prefix = which + "_";
  for (Section section :
       {waterfall_section(s.point, words), memory_section(s.point, *s.gpu, words)}) {
    section.id = prefix + section.id;
    section.title += words("compare.which", fmt::arg("which", words("column." + which)));
    for (Block& block : section.blocks) {
      if (auto* chart = std::get_if<Chart>(&block)) chart->id = prefix + chart->id;
      if (auto* table = std::get_if<DocTable>(&block)) table->id = prefix + table->id;
    }
    out.sections.push_back(std::move(section));
  }
}

}  // namespace

Document compare_page(const ComparedScenario& a, const ComparedScenario& b, const Words& words) {
  Document out;
  out.kind = "comparison";
  out.language = words.language();
  out.table_words = words("page.table");
  out.title = a.name + " / " + b.name;
  out.question = question_line(a.point.scenario, *a.gpu, words) + " / " +
                 question_line(b.point.scenario, *b.gpu, words);
  const double times = a.point.prediction.samples_per_s > 0
                           ? b.point.prediction.samples_per_s / a.point.prediction.samples_per_s
                           : 0;
  out.verdict = words("compare.verdict",
                      fmt::arg("times", fmt::format("{:.2f}", times)),
                      fmt::arg("second_step", format_seconds(b.point.prediction.step.value)),
                      fmt::arg("first_step", format_seconds(a.point.prediction.step.value)));
  out.sections.push_back(figures_section(a, b, words));
  add_sections(out, a, "first", words);
  add_sections(out, b, "second", words);
  return out;
}

}  // namespace stepsight
