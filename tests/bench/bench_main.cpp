// stepsight_bench [--check] [--long] [--filter TEXT] [PROGRAM]
// PROGRAM is the one beside it if none is given: the two alone, copied anywhere, are all it needs.
// Prints what each bench measured beside its goal. With --check the exit status is 1 when a goal
// is missed; without it the table is for reading, since a busy machine misses goals by itself.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/bench/bench.h"

namespace stepsight::bench {

std::vector<Bench>& benches() {
  static std::vector<Bench> all;
  return all;
}

namespace {

struct Options {
  bool check = false;
  std::string_view filter;
  BenchContext context;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--check") {
      options.check = true;
    } else if (argument == "--long") {
      options.context.long_runs = true;
    } else if (argument == "--filter" && i + 1 < argc) {
      options.filter = argv[++i];
    } else {
      options.context.program = argument;
    }
  }
  const std::filesystem::path beside = std::filesystem::path(argv[0]).parent_path() / "stepsight";
  if (options.context.program.empty() && std::filesystem::exists(beside)) {
    options.context.program = std::filesystem::absolute(beside).string();
  }
  return options;
}

// Prints one row; whether the goal was reached (a bench that cannot run misses none).
bool report(const Bench& bench, const BenchContext& context) {
  const double measured = bench.measure(context);
  if (std::isnan(measured)) {
    std::printf(
        "%-58.*s %12s\n", static_cast<int>(bench.name.size()), bench.name.data(), "skipped");
    return true;
  }
  const double ratio =
      bench.better == Better::higher ? measured / bench.goal : bench.goal / measured;
  std::printf("%-58.*s %12.4g %10.4g %-9.*s %7.2fx%s\n",
              static_cast<int>(bench.name.size()),
              bench.name.data(),
              measured,
              bench.goal,
              static_cast<int>(bench.unit.size()),
              bench.unit.data(),
              ratio,
              ratio < 1 ? "  MISSED" : "");
  std::fflush(stdout);
  return ratio >= 1;
}

int run_all(const Options& options) {
  bool reached = true;
  std::printf("%-58s %12s %10s %-9s %8s\n", "bench", "measured", "goal", "unit", "ratio");
  for (const Bench& bench : benches()) {
    if (bench.name.find(options.filter) == std::string_view::npos) continue;
    reached = report(bench, options.context) && reached;
  }
  return options.check && !reached ? 1 : 0;
}

}  // namespace
}  // namespace stepsight::bench

int main(int argc, char** argv) {
  return stepsight::bench::run_all(stepsight::bench::parse(argc, argv));
}
