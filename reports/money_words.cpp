#include "reports/money_words.h"

#include <cmath>

#include "reports/text_table.h"

namespace stepsight {

std::string format_amount(double amount) {
  const double size = std::abs(amount);
  if (size == 0) return "0";
  if (size >= 1000) return format_count(amount);
  if (size >= 100) return fmt::format("{:.0f}", amount);
  if (size >= 10) return fmt::format("{:.1f}", amount);
  if (size >= 1) return fmt::format("{:.2f}", amount);
  return fmt::format("{:.3g}", amount);
}

std::string currency_of(const Scenario& s) {
  return s.cost.currency.empty() ? "USD" : s.cost.currency;
}

bool is_range(const Figure& f) {
  return f.low < f.value || f.high > f.value;
}

std::string span_words(double seconds, const Words& words) {
  if (seconds < 2 * 86400) {
    return words("money.hours", fmt::arg("n", fmt::format("{:.3g}", seconds / 3600)));
  }
  return words("money.days", fmt::arg("n", format_amount(seconds / 86400)));
}

std::string span_words(const Figure& f, const Words& words) {
  if (!is_range(f)) return span_words(f.value, words);
  return words("money.span",
               fmt::arg("value", span_words(f.value, words)),
               fmt::arg("from", span_words(f.low, words)),
               fmt::arg("to", span_words(f.high, words)));
}

std::string own_words(const Scenario& s, const Words& words) {
  return words(s.cost.gpu_price ? "money.bought" : "money.power");
}

std::string unit_of_work(const Scenario& s, const Words& words) {
  return words(takes_images(s.model.family) ? "money.million_images" : "money.million_tokens");
}

std::string failures_sentence(const Money& m, const Words& words) {
  const Goodput& g = m.goodput;
  const std::string share = format_percent(g.share);
  if (g.mtbf_s <= 0)
    return g.share >= 1 ? "" : words("money.checkpoints", fmt::arg("share", share));
  return words("money.failures",
               fmt::arg("hours", format_amount(g.mtbf_s / 3600)),
               fmt::arg("minutes", format_amount(g.interval_s / 60)),
               fmt::arg("share", share));
}

std::string break_even_sentence(const Money& m, const Words& words) {
  if (m.break_even_hours) {
    return words(*m.break_even_hours <= m.life_hours ? "money.pays" : "money.pays_late",
                 fmt::arg("hours", format_amount(*m.break_even_hours)));
  }
  return m.rent && m.own ? words("money.pays_never") : "";
}

std::string list_sentence(const Scenario& s, const Words& words) {
  if (s.cost.list_title.empty()) return "";
  return words("money.list", fmt::arg("list", s.cost.list), fmt::arg("title", s.cost.list_title));
}

std::string missing_price_sentence(const Scenario& s, const Money& m, const Words& words) {
  if (!m.price_missing) return "";
  return words("money.no_price", fmt::arg("gpu", s.cluster.gpu), fmt::arg("list", s.cost.list));
}

std::string sure_sentence(std::span<const StudyPoint> points,
                          const MarginalLine& line,
                          const Words& words) {
  if (!line.range) return "";
  const auto gpus = [&](std::size_t p) { return points[p].scenario.cluster.gpus; };
  return words(line.range->p5 == line.range->p95 ? "worth.sure_one" : "worth.sure",
               fmt::arg("n", gpus(line.last_worth)),
               fmt::arg("share", format_percent(line.range->same, 0)),
               fmt::arg("from", gpus(line.range->p5)),
               fmt::arg("to", gpus(line.range->p95)));
}

std::string worth_sentence(
    const Scenario& s, std::int64_t cards, bool last, bool days_known, const Words& words) {
  const std::string rule =
      s.cost.day_worth && days_known
          ? words("worth.rule_day",
                  fmt::arg("amount", format_amount(*s.cost.day_worth)),
                  fmt::arg("currency", currency_of(s)))
          : words("worth.rule_share", fmt::arg("share", format_percent(least_share, 0)));
  return words(last ? "worth.all" : "worth.until", fmt::arg("n", cards), fmt::arg("rule", rule));
}

}  // namespace stepsight
