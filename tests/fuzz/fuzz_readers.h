// The readers of people's files, each as a function of bytes, with seeds to start from.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepsight {

struct FuzzReader {
  std::string_view name;
  // Reads; throws UserError for what a person can mend, and aborts where something impossible was
  // let through.
  void (*read)(std::string_view text);
  std::vector<std::string> (*seeds)();
};

// Of what other programs write: logs, traces, recordings, tables, scenarios.
std::span<const FuzzReader> log_fuzz_readers();
// Of what this one writes and ships: profiles, links, models, prices, measurements.
std::span<const FuzzReader> data_fuzz_readers();

}  // namespace stepsight
