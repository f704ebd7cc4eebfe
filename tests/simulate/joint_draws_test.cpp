// Draws of several steps' errors: each step's own interval, and what two steps have in common.
#include "simulate/joint_draws.h"

#include <algorithm>
#include <cmath>

#include "tests/catch2.h"

namespace stepsight {
namespace {

constexpr auto products = index(StepInput::products);
constexpr auto link_term = static_cast<std::size_t>(ErrorTerm::measured_link);

// A step of a second, unsure by its card's products and by its link.
Uncertainty unsure(double of_products, double of_link, double low = -1.645, double high = 1.645) {
  Uncertainty u;
  u.effects[products] = of_products;
  u.term_log_sd[link_term] = of_link;
  u.log_sd = std::hypot(of_products, of_link);
  u.step = interval_of(1, u.log_sd, low, high);
  return u;
}

Cluster on(const char* gpu, const char* link) {
  Cluster c;
  c.gpu = gpu;
  c.link = link;
  return c;
}

double log_sd(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(std::log(a[i] / b[i]), 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

TEST_CASE("a step's draws have the step's own interval, however lopsided it is") {
  for (const auto& [low, high] : {std::pair{-1.645, 1.645}, {-0.9, 3.0}, {-3.1, 1.5}}) {
    const Uncertainty u = unsure(0.05, 0.1, low, high);
    std::vector<double> factors = JointDraws().step_factors(on("a", "x"), u);
    const Ends ends = ends_of(factors);
    CHECK(std::log(ends.p5) == Approx(std::log(u.step.p5)).epsilon(0.12));
    CHECK(std::log(ends.p95) == Approx(std::log(u.step.p95)).epsilon(0.12));
  }
}

TEST_CASE("what two steps have in common cancels in their ratio, and the rest remains") {
  JointDraws draws;
  const auto a = draws.step_factors(on("a", "x"), unsure(0.2, 0));
  // The same card and as unsure of it: only the link differs.
  const auto b = draws.step_factors(on("a", "x"), unsure(0.2, 0.1));
  CHECK(log_sd(b, a) == Approx(0.1).epsilon(0.1));
  // Another card is off by itself: sqrt(2) x 0.2.
  const auto c = draws.step_factors(on("c", "x"), unsure(0.2, 0));
  CHECK(log_sd(c, a) == Approx(0.2 * std::sqrt(2.0)).epsilon(0.1));
  // Another link, too, and the same link not.
  const auto d = draws.step_factors(on("a", "y"), unsure(0.2, 0.1));
  CHECK(log_sd(d, b) == Approx(0.1 * std::sqrt(2.0)).epsilon(0.1));
  CHECK(log_sd(draws.step_factors(on("a", "x"), unsure(0.2, 0.1)), b) == 0);
}

TEST_CASE("steps that differ have something that they never share, equal ones do not") {
  Uncertainty u = unsure(0.2, 0.1), v = unsure(0.2, 0.1001);
  u.ratio_log_sd = v.ratio_log_sd = 0.05;
  JointDraws draws;
  const auto a = draws.step_factors(on("a", "x"), u);
  CHECK(log_sd(draws.step_factors(on("a", "x"), u), a) == 0);
  CHECK(log_sd(draws.step_factors(on("a", "x"), v), a) == Approx(0.05).epsilon(0.1));
}

TEST_CASE("the order of asking does not change the draws, and without an interval all are 1") {
  JointDraws one, two;
  const auto a = one.step_factors(on("a", "x"), unsure(0.2, 0.1));
  two.step_factors(on("b", "y"), unsure(0.1, 0.3));
  CHECK(two.step_factors(on("a", "x"), unsure(0.2, 0.1)) == a);
  const auto known = one.step_factors(on("a", "x"), Uncertainty{});
  CHECK(std::ranges::all_of(known, [](double f) { return f == 1; }));
}

}  // namespace
}  // namespace stepsight
