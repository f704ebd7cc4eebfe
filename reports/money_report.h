// Money and the value of more cards: sections of a prediction's text, and their JSON and CSV.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "reports/money_words.h"
#include "reports/predict_report.h"

namespace stepsight {

// What the run of one point costs: renting against owning, time to train, failures. Empty where the
// scenario names neither prices nor the run's length.
std::string money_section(const StudyPoint& point, const Words& words);

// What each added card brings, and what other links and cards are worth; empty where the sweep has
// no such axis.
std::string worth_section(const PredictReport& report, const Words& words);

nlohmann::ordered_json money_json(const Scenario& scenario, const std::optional<Money>& money);
nlohmann::ordered_json worth_json(const PredictReport& report);

// What the cards that a point has more than the next smaller number of its line bring, with
// intervals: the header ("" where the sweep has no such line), then the cells of each point, a
// comma before each cell; empty cells where a line begins and where a figure is without bound.
struct WorthCsv {
  std::string header;
  std::vector<std::string> cells;
};
WorthCsv worth_csv(const PredictReport& report);

// Columns that are only there where some point has money: a header and a row, each cell with a
// comma before it. Amounts in the scenario's currency.
std::string money_csv_header();
std::string money_csv_cells(const std::optional<Money>& money);

}  // namespace stepsight
