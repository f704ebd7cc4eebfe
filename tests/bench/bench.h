// Speed goals of the project, measured by a small harness of our own. A file under tests/bench
// registers its benches at namespace scope:
//
//   const int registered = add_bench({"predict Llama-2 7B DDP on 8", 1.0, "ms", Better::lower,
//                                     [](const BenchContext&) { return 1e3 * seconds_per_call(...);
//                                     }});
//
// and the main in bench_main.cpp prints one line each: name, measured, goal, ratio.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepsight::bench {

enum class Better { higher, lower };

struct BenchContext {
  std::string program;     // path of the stepsight executable, empty when there is none
  bool long_runs = false;  // those of minutes, too
};

struct Bench {
  std::string_view name;
  double goal = 0;
  std::string_view unit;
  Better better = Better::lower;
  double (*measure)(const BenchContext&) = nullptr;  // in `unit`; NaN: cannot run here
};

// In order of registration, which is by file in link order.
std::vector<Bench>& benches();
inline int add_bench(const Bench& bench) {
  benches().push_back(bench);
  return static_cast<int>(benches().size());
}

// Keeps the compiler from dropping a computation whose result nobody reads.
inline const volatile void* volatile kept = nullptr;
template <typename T>
void keep(const T& value) {
  kept = &value;
}

// Median over `samples` samples of the mean time of a call, in seconds; a sample repeats the call
// until it lasts `sample_seconds`: shorter than a time slice, so that on a busy machine most
// samples are not interrupted and the median is not moved by those that are.
template <typename Call>
double seconds_per_call(Call&& call, double sample_seconds = 0.002, std::size_t samples = 101) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> means;
  call();  // warms caches and the allocator
  for (std::size_t i = 0; i < samples; ++i) {
    const Clock::time_point begin = Clock::now();
    std::size_t calls = 0;
    double passed = 0;
    do {
      call();
      ++calls;
      passed = std::chrono::duration<double>(Clock::now() - begin).count();
    } while (passed < sample_seconds);
    means.push_back(passed / static_cast<double>(calls));
  }
  std::nth_element(
      means.begin(), means.begin() + static_cast<std::ptrdiff_t>(samples / 2), means.end());
  return means[samples / 2];
}

}  // namespace stepsight::bench
