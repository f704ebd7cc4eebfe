// Hostile traces: random damage to a good one must end in a step whose numbers are finite, or in a
// UserError. The seeds are fixed, so a failure repeats.
#include <cmath>
#include <random>
#include <string>

#include "model/errors.h"
#include "simulate/traced_prediction.h"
#include "tests/catch2.h"
#include "tests/model/toy_gpu.h"
#include "tests/model/toy_trace.h"

using namespace stepsight;

namespace {

const std::array<const char*, 16> nasty{"1e308",
                                        "-1",
                                        "0",
                                        "9223372036854775807",
                                        "18446744073709551615",
                                        "null",
                                        "true",
                                        "[]",
                                        "{}",
                                        "\"\"",
                                        "\"X\"",
                                        "\xff",
                                        "[[[",
                                        "}",
                                        "-0.0",
                                        "1e17"};

std::string damaged(std::string text, std::mt19937& random) {
  const std::size_t edits = 1 + random() % 4;
  for (std::size_t i = 0; i < edits; ++i) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        text.erase(at, 1 + random() % 40);
        break;
      case 2: {  // a number for another
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end = text.find_first_not_of("0123456789.", digit);
        text.replace(digit, end - digit, nasty[random() % nasty.size()]);
        break;
      }
      default:
        text.insert(at, nasty[random() % nasty.size()]);
        break;
    }
    if (text.empty()) text = " ";
  }
  return text;
}

}  // namespace

TEST_CASE("a damaged trace gives a finite step or a UserError") {
  ToyTrace trace;
  for (int i = 0; i < 2; ++i) {
    trace.add("user_annotation", "ProfilerStep#" + std::to_string(i), 1, 200.0 * i, 199);
    add_toy_step(trace, 200.0 * i, 100 * i);
  }
  const std::string good = trace.text();
  std::mt19937 random(20260101);
  const GpuProfile gpu = toy_gpu();
  Scenario scenario;
  scenario.cluster.gpus = 8;
  scenario.cluster.link = "wire";
  int steps = 0;
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = damaged(good, random);
    INFO(text);
    try {
      TracedStep step = step_of(text);
      for (const TracedKernel& k : step.kernels) {
        REQUIRE((std::isfinite(k.seconds) && k.seconds >= 0));
        REQUIRE((std::isfinite(k.issue_seconds) && k.issue_seconds >= 0));
      }
      if (!step.sizes_recorded) share_out_parameters(step, 1000);
      const double seconds = predict_traced(step, scenario, gpu, &gpu).point.prediction.step.value;
      REQUIRE((std::isfinite(seconds) && seconds >= 0));
      ++steps;
    } catch (const UserError&) {
      ++refused;
    }
  }
  // Damage of both kinds was met.
  CHECK(steps > 500);
  CHECK(refused > 500);
}
