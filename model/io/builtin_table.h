// The list of files that the build compiled in. Its one definition is generated
// (cmake/StepsightBuiltin.cmake); the way to them for everybody else is model/io/builtin.h.
#pragma once
#include <array>
#include <span>
#include <string_view>

namespace stepsight {

struct BuiltinRow {
  std::string_view path;  // below scenarios/, e.g. "models/gpt2-124m.toml"
  const char* begin;
  const char* end;
};

// Sorted by path, byte for byte.
std::span<const BuiltinRow> builtin_table();

}  // namespace stepsight
