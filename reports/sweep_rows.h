// Rows of a sweep: one line a point, as CSV or as JSON, that can be written one after the other.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/scenario.h"
#include "simulate/money.h"
#include "simulate/quick_predict.h"
#include "simulate/study.h"

namespace stepsight {

class SweepRows {
 public:
  // `axes`: keys given as arrays. `money`: the scenario has prices or the run's length.
  // `intervals`: rows come with what study() says of them, too: scaling, and 90 % intervals of all
  // figures.
  SweepRows(std::span<const std::string> axes, bool money, bool json, bool intervals = false);

  // The line before the rows, with its line feed; empty for JSON.
  [[nodiscard]] std::string header() const;
  // Appends the row of point `index` with its line feed. `values`: what it has on each axis;
  // `studied`: not null where rows come with intervals.
  void append(std::string& out,
              std::uint64_t index,
              std::span<const std::string> values,
              const Scenario& scenario,
              const QuickPrediction& prediction,
              const std::optional<Money>& money,
              const StudyPoint* studied = nullptr) const;

 private:
  std::vector<std::string> axes_;
  std::vector<std::size_t> further_;  // axes that no other column shows
  bool money_;
  bool json_;
  bool intervals_;
};

// The point that a row of either form is about; nothing where it is none. A header is none.
std::optional<std::uint64_t> point_of_row(std::string_view row);

}  // namespace stepsight
