// A report as a person waits for it: the process, from its flags to the written page.
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "tests/bench/bench.h"

namespace stepsight::bench {
namespace {

// 50 batches by 20 lengths of sequences, explained at the last.
double sweep_report_s(const BenchContext& context) {
  if (context.program.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::string batches = "1", lengths = "128";
  for (int i = 2; i <= 50; ++i) batches += "," + std::to_string(i);
  for (int i = 2; i <= 20; ++i) lengths += "," + std::to_string(128 * i);
  const std::string page =
      (std::filesystem::temp_directory_path() / "stepsight-bench-report.html").string();
  const std::string command =
      "'" + context.program +
      "' report --model llama2-7b --gpu h200-sxm --gpus 8 --link nvlink4-nvswitch"
      " --batch " +
      batches + " --seq " + lengths + " -o '" + page + "'";
  const double seconds = seconds_per_call([&] { keep(std::system(command.c_str())); }, 0, 1);
  std::filesystem::remove(page);
  return seconds;
}

const int registered = add_bench({"report: a page of a sweep of 1,000 points, as a process",
                                  2,
                                  "s",
                                  Better::lower,
                                  sweep_report_s});

}  // namespace
}  // namespace stepsight::bench
