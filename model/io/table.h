// Reads the tables of a TOML or JSON file key by key and collects every mistake in an ErrorList,
// each with its place, what was expected and, for an unknown key, the nearest one that is known.
//
//   const Value root = parse_toml(path, text);
//   ErrorList errors(path);
//   Table table(root, errors);
//   Table link = table.sub_table("link");
//   const double busbw = link.require_number("busbw_GBps", 0, 1e5);
//   link.finish();       // every key that nobody asked for is an error
//   table.finish();
//   errors.throw_if_any();
//
// A getter that finds a mistake notes it and returns a harmless value (the least one allowed, an
// empty string), so that reading goes on; nothing read may be used before throw_if_any().
// JSON's null counts as absent. NaN, infinity and numbers out of range are mistakes. An integer may
// be written as 4.0 or 4e3.
#pragma once
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/io/value.h"

namespace stepsight {

inline constexpr std::int64_t any_int = std::numeric_limits<std::int64_t>::max();
inline constexpr double any_number = std::numeric_limits<double>::max();

class Table {
 public:
  // Of a whole file. `root` and `errors` must outlive the table and those made from it.
  Table(const Value& root, ErrorList& errors);

  // False for a sub-table the file does not have: its optional keys are all empty, its required
  // ones missing.
  bool present() const { return members_ != nullptr; }
  Position position() const { return at_; }
  // "[training]" for messages; "the file" for the root.
  std::string title() const;
  // Keys in the order of the file, for tables whose keys are free names.
  std::vector<std::string> keys() const;

  std::int64_t require_int(std::string_view key, std::int64_t least, std::int64_t most = any_int);
  std::optional<std::int64_t> optional_int(std::string_view key,
                                           std::int64_t least,
                                           std::int64_t most = any_int);
  double require_number(std::string_view key, double least, double most = any_number);
  std::optional<double> optional_number(std::string_view key,
                                        double least,
                                        double most = any_number);
  bool require_bool(std::string_view key);
  std::optional<bool> optional_bool(std::string_view key);
  std::string require_string(std::string_view key);
  std::optional<std::string> optional_string(std::string_view key);
  // Index into `words` of the one that was given.
  std::size_t require_choice(std::string_view key, std::span<const std::string_view> words);
  std::optional<std::size_t> optional_choice(std::string_view key,
                                             std::span<const std::string_view> words);
  // An array of numbers; empty when absent.
  std::vector<double> numbers(std::string_view key, double least, double most = any_number);
  std::vector<std::string> strings(std::string_view key);

  Table sub_table(std::string_view key);
  // [[key]] tables in the order of the file; empty when absent.
  std::vector<Table> array_of_tables(std::string_view key);

  // The value as it stands, null when absent; for keys that may be of several kinds.
  const Value* value(std::string_view key);
  // The place of a key, or of the table when it lacks the key.
  Position position_of(std::string_view key) const;
  // Notes a mistake at the key (cross-field rules of the caller).
  void mistake(std::string_view key, const std::string& message);

  // Notes every key that no getter has asked for. Call it once, after the last getter.
  void finish();

 private:
  Table(const Members* members, Position at, std::string name, ErrorList& errors);
  const Member* find(std::string_view key);
  const Member* require(std::string_view key);

  const Members* members_;  // null when absent
  Position at_;
  std::string name_;
  ErrorList* errors_;
  std::vector<std::string> asked_;
};

// One value against its expectation; a mistake is noted as "'key' must be an integer from 1 to 8,
// got -2" at the value's place. `where` follows the key ("in [training]"; may be empty).
struct ValueName {
  std::string_view key;
  std::string where;
};
std::optional<std::int64_t> check_int(const Value& value,
                                      const ValueName& name,
                                      std::int64_t least,
                                      std::int64_t most,
                                      ErrorList& errors);
std::optional<double> check_number(
    const Value& value, const ValueName& name, double least, double most, ErrorList& errors);
std::optional<bool> check_bool(const Value& value, const ValueName& name, ErrorList& errors);
std::optional<std::string> check_string(const Value& value,
                                        const ValueName& name,
                                        ErrorList& errors);
std::optional<std::size_t> check_choice(const Value& value,
                                        const ValueName& name,
                                        std::span<const std::string_view> words,
                                        ErrorList& errors);

}  // namespace stepsight
