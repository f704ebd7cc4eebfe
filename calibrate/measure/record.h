// A record is a flat list of named values: one object of a measurement file. Records are all the
// JSON that the format needs (calibrate/MEASUREMENT.md), so a bare GPU machine needs no library.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace stepsight::calibrate {

using FieldValue = std::variant<bool, std::int64_t, double, std::string>;

struct Field {
  std::string key;
  FieldValue value;

  bool operator==(const Field&) const = default;
};

using Record = std::vector<Field>;  // keeps its order

// Chooses the alternative by the type of `value`, so that a size_t is a number and a literal a
// text.
template <typename T>
Field field(std::string_view key, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return {std::string(key), FieldValue(value)};
  } else if constexpr (std::is_integral_v<T>) {
    return {std::string(key), FieldValue(static_cast<std::int64_t>(value))};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {std::string(key), FieldValue(static_cast<double>(value))};
  } else {
    return {std::string(key), FieldValue(std::string(std::move(value)))};
  }
}

const FieldValue* find(const Record& record, std::string_view key);

// {"m": 1, "dtype": "bf16"} on one line. Doubles carry seven significant digits; a value that is
// not finite becomes null, which JSON can say and NaN is not.
std::string to_json(const Record& record);

// What a measurement file holds that a later run needs in order to go on from it.
struct ParsedFile {
  Record top;                                            // scalars of the outermost object
  std::vector<std::pair<std::string, Record>> sections;  // its objects, flat part only
  std::vector<Record> points;                            // "points"
};

// Reads what the writer writes: any JSON object of at most 64 levels. Unknown nested values are
// skipped, nulls left out. Throws UserError "name:line: what is wrong" on anything else.
ParsedFile parse_measurement(std::string_view text, std::string_view name);

}  // namespace stepsight::calibrate
