#include "reports/waterfall_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/text_table.h"

namespace stepsight {

namespace {

struct Row {
  std::string cause;
  Picoseconds from = 0, to = 0, more = 0, less = 0;
};

std::vector<Row> rows_of(const StepsBetween& between) {
  const StepDifference d = difference(between.from, between.to);
  std::vector<Row> out;
  for (std::size_t i = 0; i < step_cause_count; ++i) {
    out.push_back({std::string(name_of(static_cast<StepCause>(i))),
                   between.from.parts[i],
                   between.to.parts[i],
                   d.more[i],
                   d.less[i]});
  }
  return out;
}

// The step's own line: what it grows or shrinks by as a whole.
Row whole(const StepsBetween& b) {
  return {"step",
          b.from.step,
          b.to.step,
          std::max<Picoseconds>(b.to.step - b.from.step, 0),
          std::max<Picoseconds>(b.from.step - b.to.step, 0)};
}

// Milliseconds with as many digits for all: a column of one unit adds up by eye.
std::string milliseconds(Picoseconds t) {
  return fmt::format("{:.3f} ms", to_seconds(t).value * 1e3);
}

std::string change(const Row& r) {
  if (r.more > 0) return "+" + milliseconds(r.more);
  return r.less > 0 ? "-" + milliseconds(r.less) : "";
}

}  // namespace

std::string point_name(std::span<const std::string> axes,
                       std::span<const std::string> values,
                       std::span<const std::string> others) {
  std::string out;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (values[a] != others[a]) out += (out.empty() ? "" : ", ") + axes[a] + " = " + values[a];
  }
  return out;
}

std::string between_text(const StepsBetween& between, const Words& words) {
  if (between.from_name == between.to_name) return "";
  TextTable table;
  table.columns = {
      {"", Align::left}, {between.from_name}, {between.to_name}, {words("column.change")}};
  const auto add = [&](const Row& r, const std::string& name) {
    table.rows.push_back({name, milliseconds(r.from), milliseconds(r.to), change(r)});
  };
  for (const Row& r : rows_of(between)) {
    if (r.from > 0 || r.to > 0) add(r, words("cause." + r.cause));
  }
  add(whole(between), words("why.total_one"));
  return "\n" +
         wrap(words("between.title",
                    fmt::arg("from", between.from_name),
                    fmt::arg("to", between.to_name))) +
         "\n" + table.fitted();
}

nlohmann::ordered_json between_json(const StepsBetween& between) {
  nlohmann::ordered_json out{{"from", between.from_name}, {"to", between.to_name}};
  out["causes"] = nlohmann::ordered_json::array();
  for (const Row& r : rows_of(between)) {
    out["causes"].push_back({{"cause", r.cause},
                             {"from_ps", r.from},
                             {"to_ps", r.to},
                             {"more_ps", r.more},
                             {"less_ps", r.less}});
  }
  out["from_step_ps"] = between.from.step;
  out["to_step_ps"] = between.to.step;
  return out;
}

std::string between_csv(const StepsBetween& between) {
  std::string out = "cause,from_ps,to_ps,more_ps,less_ps\n";
  std::vector<Row> rows = rows_of(between);
  rows.push_back(whole(between));
  for (const Row& r : rows) {
    out += fmt::format("{},{},{},{},{}\n", csv_cell(r.cause), r.from, r.to, r.more, r.less);
  }
  return out;
}

}  // namespace stepsight
