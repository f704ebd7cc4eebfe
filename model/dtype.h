// Number formats that operators, parameters and messages are held in.
#pragma once
#include <array>
#include <optional>
#include <string_view>

namespace stepsight {

enum class Dtype { fp32, tf32, fp16, bf16, fp8 };

struct DtypeInfo {
  Dtype dtype;
  std::string_view name;
  double bytes;  // of one element as it lies in memory (tf32 is fp32 in memory)
};

inline constexpr std::array<DtypeInfo, 5> dtypes{{
    {Dtype::fp32, "fp32", 4},
    {Dtype::tf32, "tf32", 4},
    {Dtype::fp16, "fp16", 2},
    {Dtype::bf16, "bf16", 2},
    {Dtype::fp8, "fp8", 1},
}};

constexpr const DtypeInfo& info(Dtype dtype) {
  return dtypes[static_cast<std::size_t>(dtype)];
}

constexpr std::optional<Dtype> parse_dtype(std::string_view name) {
  for (const DtypeInfo& row : dtypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace stepsight
