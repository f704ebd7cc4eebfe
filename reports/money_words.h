// What is said of money, in the reader's language: sentences that a prediction's text and a report
// share.
#pragma once
#include <span>
#include <string>

#include "model/scenario.h"
#include "reports/words.h"
#include "simulate/marginal.h"
#include "simulate/money.h"

namespace stepsight {

// "12.3", "1,234", "0.0045": an amount with three significant digits and thousands separated.
std::string format_amount(double amount);

std::string currency_of(const Scenario& scenario);

// "12.3 hours" below two days, "12.3 days" from there.
std::string span_words(double seconds, const Words& words);
// The same with its interval, where it has one.
std::string span_words(const Figure& seconds, const Words& words);
bool is_range(const Figure& figure);

// "bought", or "power alone" where the cards are there already.
std::string own_words(const Scenario& scenario, const Words& words);
// "million tokens"
std::string unit_of_work(const Scenario& scenario, const Words& words);

// What checkpoints and failures leave of the time; empty where that is all of it.
std::string failures_sentence(const Money& money, const Words& words);
// When buying is cheaper than renting; empty where one of the two has no price.
std::string break_even_sentence(const Money& money, const Words& words);
// Whose prices they are; empty without a list.
std::string list_sentence(const Scenario& scenario, const Words& words);

// "12 (10 to 15)", and "12 (10 to never)" where the figure has no upper end; the ends as format()
// writes them.
template <typename Format>
std::string with_range(double value,
                       const std::optional<double>& p5,
                       const std::optional<double>& p95,
                       const Words& words,
                       Format format) {
  if (!p5) return format(value);
  return words("money.span",
               fmt::arg("value", format(value)),
               fmt::arg("from", format(*p5)),
               fmt::arg("to", p95 ? format(*p95) : words("worth.never")));
}

// Which prices are missing; empty where none are.
std::string missing_price_sentence(const Scenario& scenario,
                                   const Money& money,
                                   const Words& words);

// Up to how many cards the next one is worth it, and by which rule. `last`: the line has no more
// cards.
std::string worth_sentence(
    const Scenario& scenario, std::int64_t cards, bool last, bool days_known, const Words& words);
// How sure that number is; empty where the predictions have no intervals.
std::string sure_sentence(std::span<const StudyPoint> points,
                          const MarginalLine& line,
                          const Words& words);

}  // namespace stepsight
