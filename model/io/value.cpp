#include "model/io/value.h"

#include "model/errors.h"
#include "model/io/read_file.h"

namespace stepsight {

std::string_view kind_name(const Value& value) {
  struct Names {
    std::string_view operator()(const OtherValue& other) const { return other.what; }
    std::string_view operator()(bool /*value*/) const { return "a boolean"; }
    std::string_view operator()(std::int64_t /*value*/) const { return "an integer"; }
    std::string_view operator()(double /*value*/) const { return "a number"; }
    std::string_view operator()(const std::string& /*value*/) const { return "a string"; }
    std::string_view operator()(const Array& /*value*/) const { return "an array"; }
    std::string_view operator()(const Members& /*value*/) const { return "a table"; }
  };
  return std::visit(Names{}, value.data);
}

void check_size(const std::string& file,
                std::string_view text,
                std::size_t max_bytes,
                std::string_view what) {
  if (text.size() <= max_bytes) return;
  throw UserError(locate(file,
                         {1, 1},
                         "is larger than " + std::to_string(max_bytes / megabyte) +
                             " MB, the most " + std::string(what) + " may have"));
}

}  // namespace stepsight
