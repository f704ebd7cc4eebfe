#include "model/measured_surface.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch2.h"

using namespace stepsight;

namespace {

using Sample = MeasuredSurface::Sample;

// Residuals 0.1, 0.3 and -0.2 at sizes of 2^10, 2^12 and 2^14.
MeasuredSurface line() {
  return MeasuredSurface({{{10}, 0.1F}, {{12}, 0.3F}, {{14}, -0.2F}});
}

}  // namespace

TEST_CASE("measured points come back exactly") {
  const MeasuredSurface surface = line();
  CHECK(surface.size() == 3);
  CHECK(surface.at({10}).log_residual == static_cast<double>(0.1F));
  CHECK(surface.at({14}).log_residual == static_cast<double>(-0.2F));
  CHECK(surface.at({12}).distance == 0);
}

TEST_CASE("between two points along one size the residual follows a line") {
  // Half-way: 0.2, faded by 1 / (1 + (1/2)^2) as the nearest point is a factor of two away; the
  // slope's small penalty does not matter in the middle.
  CHECK(line().at({11}).log_residual == Approx(0.2 / 1.25).epsilon(1e-4));
  CHECK(line().at({11}).inside());
}

TEST_CASE("far away the residual has faded and the answer says so") {
  const MeasuredSurface::Answer far = line().at({40});
  CHECK(std::abs(far.log_residual) < 0.002);
  CHECK_FALSE(far.inside());
  CHECK(far.distance == Approx(26));
}

TEST_CASE("without points there is no residual and nothing is near") {
  const MeasuredSurface::Answer answer = MeasuredSurface{}.at({10, 10});
  CHECK(answer.log_residual == 0);
  CHECK(answer.distance == std::numeric_limits<double>::infinity());
  CHECK_FALSE(answer.inside());
}

TEST_CASE("points at one place count as their mean") {
  // Two shapes of an elementwise pass with the same number of elements, say.
  const MeasuredSurface surface({{{10}, 0.1F}, {{10}, 0.3F}});
  CHECK(surface.at({10}).log_residual == Approx(0.2).epsilon(1e-6));
  const MeasuredSurface wider({{{10}, 0.1F}, {{12}, 0.5F}, {{10}, 0.3F}});
  CHECK(wider.at({10}).log_residual == Approx(0.2).epsilon(1e-6));
  CHECK(wider.at({12}).log_residual == Approx(0.5).epsilon(1e-6));
}

TEST_CASE("an average gives a lone point the weight of its correlation") {
  // e^-1 of the residual, less the share of it that is the point's own scatter: 1 / (1 + 0.1).
  const MeasuredSurface surface({{{10}, 0.3F}, {{90}, 0.0F}}, Interpolation::average);
  CHECK(surface.at({11}).log_residual == Approx(0.3 * std::exp(-1.0) / 1.1).epsilon(1e-4));
  CHECK(surface.at({11}).distance == Approx(1));
  CHECK(std::abs(surface.at({25}).log_residual) < 1e-6);
}

TEST_CASE("an average takes the scatter out of crowded points but returns each as measured") {
  // Nine points almost at one place, four of them slow: the next shape to be asked for is as likely
  // to be slow as they are. 4/9 of 0.18, less what the own scatter of nine takes: 9 / (9 + 0.1).
  std::vector<Sample> samples;
  for (int i = 0; i < 9; ++i)
    samples.push_back({{10 + 1e-4F * static_cast<float>(i)}, i < 4 ? 0.18F : 0});
  const MeasuredSurface surface(samples, Interpolation::average);
  CHECK(surface.at({9.9999F}).log_residual == Approx(0.08 * 9 / 9.1).epsilon(0.05));
  CHECK(surface.at({10}).log_residual == static_cast<double>(0.18F));
}

TEST_CASE("an average weighs two corners of a cell alike") {
  // Correlations e^-1 with either point, e^-2 between them: w = e^-1 / (1 + 0.1 + e^-2) for each.
  const MeasuredSurface surface({{{10, 4}, 0.1F}, {{11, 5}, 0.3F}}, Interpolation::average);
  const double weight = std::exp(-1.0) / (1.1 + std::exp(-2.0));
  CHECK(surface.at({10, 5}).log_residual == Approx(0.4 * weight).epsilon(1e-4));
}

TEST_CASE("an average fades along sizes in which its points do not differ, too") {
  const MeasuredSurface one({{{1, 2}, 0.5F}}, Interpolation::average);
  CHECK(one.at({1, 2}).log_residual == Approx(0.5));
  CHECK(std::abs(one.at({1, 12}).log_residual) < 1e-4);
  const MeasuredSurface row({{{0, 2}, 0.5F}, {{1, 2}, 0.5F}}, Interpolation::average);
  CHECK(std::abs(row.at({0.5F, 12}).log_residual) < 1e-4);
}

TEST_CASE("points that are equally far give the same answer, in whatever order they came") {
  // A grid, as designs are: from its middle and its edges many corners are equally far, more than
  // are looked at.
  std::vector<Sample> samples;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      for (int k = 0; k < 5; ++k) {
        const int value = (i * 7 + j * 3 + k * 11) % 13;
        samples.push_back({{static_cast<float>(i), static_cast<float>(j), static_cast<float>(k)},
                           0.02F * static_cast<float>(value)});
      }
    }
  }
  for (const Interpolation how : {Interpolation::plane, Interpolation::average}) {
    const MeasuredSurface first(samples, how);
    std::vector<Sample> others = samples;
    std::mt19937 random(7);
    for (int round = 0; round < 5; ++round) {
      std::shuffle(others.begin(), others.end(), random);
      const MeasuredSurface second(others, how);
      for (const float x : {0.5F, 1.0F, 1.5F, 2.25F}) {
        for (const float y : {0.5F, 2.0F, 3.5F}) {
          CHECK(second.at({x, y, 1.5F}).log_residual == first.at({x, y, 1.5F}).log_residual);
        }
      }
    }
  }
}

TEST_CASE("a memory of earlier queries changes no answer") {
  // Steps as small as a sweep's, so that most find the neighbours of the query before, and jumps
  // among them; few points and many, in one size and in several; two surfaces that share a memory.
  std::mt19937 random(5);
  std::uniform_real_distribution<float> anywhere(0, 8), nudge(-0.02F, 0.02F);
  for (const Interpolation how : {Interpolation::plane, Interpolation::average}) {
    for (const int count : {3, 20, 33, 600}) {
      for (const int sizes : {1, 4}) {
        const auto surface = [&] {
          std::vector<Sample> samples;
          for (int i = 0; i < count; ++i) {
            Sample sample{{}, 0.01F * static_cast<float>(i % 17)};
            for (int d = 0; d < sizes; ++d)
              sample.at[static_cast<std::size_t>(d)] = std::floor(anywhere(random) * 2) / 2;
            samples.push_back(sample);
          }
          return MeasuredSurface(samples, how);
        };
        const MeasuredSurface first = surface(), second = surface();
        SurfaceMemory memory;
        MeasuredSurface::Point query{};
        for (int step = 0; step < 400; ++step) {
          for (int d = 0; d < sizes; ++d) {
            float& size = query[static_cast<std::size_t>(d)];
            size = step % 100 == 0 ? std::floor(anywhere(random)) : size + nudge(random);
          }
          for (const MeasuredSurface* asked : {&first, &second}) {
            const MeasuredSurface::Answer plain = asked->at(query);
            const MeasuredSurface::Answer known = asked->at(query, &memory);
            REQUIRE(known.log_residual == plain.log_residual);
            REQUIRE(known.distance == plain.distance);
          }
        }
      }
    }
  }
}

TEST_CASE("of two queries the one with the nearer point is answered") {
  const MeasuredSurface surface({{{1, 5}, 0.1F}, {{4, 2}, 0.3F}}, Interpolation::average);
  CHECK(surface.at_nearer({1.5F, 5}, {5, 1.5F}).log_residual == surface.at({1.5F, 5}).log_residual);
  CHECK(surface.at_nearer({2, 4}, {4, 2}).log_residual == surface.at({4, 2}).log_residual);
  CHECK(surface.at_nearer({1, 5}, {4, 2}).log_residual == surface.at({1, 5}).log_residual);
}
