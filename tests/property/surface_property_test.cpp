// The measured surface against brute force, on random points.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <rapidcheck.h>

#include "model/measured_surface.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

using Sample = MeasuredSurface::Sample;
using Point = MeasuredSurface::Point;

int between(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

// On a coarse grid, so that equal coordinates are common, or anywhere.
float coordinate(bool grid) {
  return grid ? static_cast<float>(between(0, 6)) : static_cast<float>(between(0, 100000)) * 2e-4F;
}

struct Cloud {
  std::vector<Sample> samples;
  int dimensions = 1;
  bool grid = false;
  Interpolation interpolation = Interpolation::plane;

  Point any_point() const {
    Point p{};
    for (int d = 0; d < dimensions; ++d) p[static_cast<std::size_t>(d)] = coordinate(grid);
    return p;
  }
};

// Large enough for several levels of the tree.
Cloud any_cloud() {
  Cloud cloud;
  cloud.dimensions = between(1, static_cast<int>(MeasuredSurface::max_dimensions));
  cloud.grid = between(0, 1) == 1;
  if (between(0, 1) == 1) cloud.interpolation = Interpolation::average;
  const int count = between(1, 400);
  for (int i = 0; i < count; ++i) {
    cloud.samples.push_back({cloud.any_point(), static_cast<float>(between(-1000, 1000)) * 1e-3F});
  }
  return cloud;
}

double distance(const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += d * d;
  }
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("the tree finds the nearest point that brute force finds") {
  CHECK(rc::check([] {
    const Cloud cloud = any_cloud();
    const MeasuredSurface surface(cloud.samples, cloud.interpolation);
    for (int i = 0; i < 5; ++i) {
      const Point query = cloud.any_point();
      double nearest = std::numeric_limits<double>::infinity();
      for (const Sample& s : cloud.samples) nearest = std::min(nearest, distance(query, s.at));
      RC_ASSERT(std::abs(surface.at(query).distance - nearest) <= 1e-5 * (1 + nearest));
    }
  }));
}

TEST_CASE("measured points come back exactly, or as the mean of those at the same place") {
  CHECK(rc::check([] {
    const Cloud cloud = any_cloud();
    const MeasuredSurface surface(cloud.samples, cloud.interpolation);
    const Sample& asked = cloud.samples[static_cast<std::size_t>(
        between(0, static_cast<int>(cloud.samples.size()) - 1))];
    const MeasuredSurface::Answer answer = surface.at(asked.at);
    double low = 1e9;
    double high = -1e9;
    for (const Sample& s : cloud.samples) {
      if (s.at != asked.at) continue;
      low = std::min(low, static_cast<double>(s.log_residual));
      high = std::max(high, static_cast<double>(s.log_residual));
    }
    RC_ASSERT(answer.distance == 0);
    RC_ASSERT(answer.log_residual >= low - 1e-6);
    RC_ASSERT(answer.log_residual <= high + 1e-6);
  }));
}

TEST_CASE("no answer leaves the range of the measured residuals and zero") {
  CHECK(rc::check([] {
    const Cloud cloud = any_cloud();
    const MeasuredSurface surface(cloud.samples, cloud.interpolation);
    double low = 0;
    double high = 0;
    for (const Sample& s : cloud.samples) {
      low = std::min(low, static_cast<double>(s.log_residual));
      high = std::max(high, static_cast<double>(s.log_residual));
    }
    const double answer = surface.at(cloud.any_point()).log_residual;
    RC_ASSERT(std::isfinite(answer));
    RC_ASSERT(answer >= low - 1e-9);
    RC_ASSERT(answer <= high + 1e-9);
  }));
}

TEST_CASE("the residual fades at least with the square of the distance") {
  CHECK(rc::check([] {
    const Cloud cloud = any_cloud();
    const MeasuredSurface surface(cloud.samples, cloud.interpolation);
    Point far = cloud.any_point();
    far[0] += 1000;
    // 1 / (1 + (d / 2)^2) of at most 1, for d of at least 980.
    RC_ASSERT(std::abs(surface.at(far).log_residual) < 5e-6);
    RC_ASSERT(!surface.at(far).inside());
  }));
}

}  // namespace stepsight
