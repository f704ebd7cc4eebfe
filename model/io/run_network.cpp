#include "model/io/run_network.h"

#include <array>
#include <charconv>
#include <utility>

namespace stepsight {

namespace {

constexpr int most_adapters = 72;

// "4x 100 Gb", "4 links": the number that counts adapters.
int counted(std::string_view prose) {
  constexpr std::array<std::string_view, 3> counters{"x ", " links", " adapters"};
  for (std::size_t at = prose.find_first_of("0123456789"); at < prose.size();) {
    int value = 0;
    const auto [end, error] =
        std::from_chars(prose.data() + at, prose.data() + prose.size(), value);
    at = static_cast<std::size_t>(end - prose.data());
    for (const std::string_view counter : counters) {
      const bool counts = error == std::errc{} && value >= 1 && value <= most_adapters;
      if (counts && prose.substr(at).starts_with(counter)) return value;
    }
    at = prose.find_first_of("0123456789", at);
  }
  return 0;
}

}  // namespace

RunNetwork network_of(std::string_view prose) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kinds{
      {{"Omni-Path", "opa"},
       {"RoCE", "roce"},
       {"EFA", "efa"},
       {"Slingshot", "slingshot"},
       {"Ethernet", "tcp"}}};
  RunNetwork out;
  for (const auto& [word, kind] : kinds) {
    if (prose.find(word) != std::string_view::npos) out.kind = kind;
  }
  if (const int adapters = counted(prose); adapters > 0) out.adapters = adapters;
  return out;
}

}  // namespace stepsight
