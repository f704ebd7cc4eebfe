// What a TOML or JSON file says, as plain data with the place of every key and value: the one form
// that the table reader (model/io/table.h) works on, whichever parser made it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/io/error_list.h"

namespace stepsight {

struct Value;
struct Member;

using Array = std::vector<Value>;
using Members = std::vector<Member>;  // in the order of the file, keys unique

inline constexpr std::string_view null_name = "null";

// A value no reader here takes (null, a date); `what` is its name for messages.
struct OtherValue {
  std::string_view what;
};

struct Value {
  std::variant<OtherValue, bool, std::int64_t, double, std::string, Array, Members> data;
  Position at;
};

struct Member {
  std::string key;
  Position at;  // of the key
  Value value;
};

// "an integer", "a string", ...: for messages that say what was found.
std::string_view kind_name(const Value& value);

// Both parsers throw UserError for anything that is not a well-formed file: `file:line:column:`
// and what the parser expected. Integers beyond 64 bits, duplicate keys, invalid UTF-8 and nesting
// deeper than 64 are such errors. `file` is only the name for messages. An empty text is an empty
// table for TOML and an error for JSON.
Value parse_toml(const std::string& file, std::string_view text);
Value parse_json(const std::string& file, std::string_view text);

// Throws UserError "file:1:1: is larger than ..." for text over `max_bytes`.
void check_size(const std::string& file,
                std::string_view text,
                std::size_t max_bytes,
                std::string_view what);

}  // namespace stepsight
