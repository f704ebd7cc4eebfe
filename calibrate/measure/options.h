// The command line that all calibration binaries share.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepsight::calibrate {

struct ExtraFlag {
  std::string_view name;   // "--ops"
  std::string_view value;  // what to write after it, "LIST"; empty for a switch
  std::string_view help;
};

struct Tool {
  std::string_view name;     // "calibrate_gemm"
  std::string_view summary;  // one sentence
  std::string_view example;  // one command line
  double quick_budget_s;     // wall time, start-up not counted
  double full_budget_s;
  std::span<const ExtraFlag> extras;
};

struct Options {
  std::string output;  // empty: the file goes to standard output when all is measured
  bool full = false;
  bool list = false;
  bool resume = false;
  bool help = false;
  int device = 0;
  double budget_s = 0;
  std::vector<std::pair<std::string, std::string>> extras;  // flags given, with their values
  std::string command;  // as typed, paths cut to their last part
};

// Throws UserError that names the flag: unknown, value missing or no number, --resume without -o.
Options parse_options(const Tool& tool, std::span<const char* const> arguments);

// Value of an extra flag, or `otherwise`. A switch that was given has the value "yes".
std::string extra(const Options& options, std::string_view flag, std::string_view otherwise);

std::string help_text(const Tool& tool);

}  // namespace stepsight::calibrate
