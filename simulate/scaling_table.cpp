#include "simulate/scaling_table.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

ScalingLaw scaling_law(std::span<const ScalingTime> times) {
  // Rows (1 / T, 1 / (N T)) x (constant, divided) = 1.
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (const ScalingTime& t : times) {
    const double a = 1 / t.seconds;
    const double b = a / static_cast<double>(t.gpus);
    aa += a * a;
    ab += a * b;
    bb += b * b;
    a1 += a;
    b1 += b;
  }
  ScalingLaw out;
  const double determinant = aa * bb - ab * ab;
  out.constant = (bb * a1 - ab * b1) / determinant;
  out.divided = (aa * b1 - ab * a1) / determinant;
  if (out.constant < 0) {
    out.constant = 0;
    out.divided = b1 / bb;
  } else if (out.divided < 0) {
    out.divided = 0;
    out.constant = a1 / aa;
  }
  const auto most = std::ranges::max_element(times, {}, &ScalingTime::gpus);
  for (const ScalingTime& t : times) {
    const double law = out.constant + out.divided / static_cast<double>(t.gpus);
    out.worst_error = std::max(out.worst_error, std::abs(law / t.seconds - 1));
    out.grows = out.grows || most->seconds > 1.02 * t.seconds;
  }
  const double largest = out.constant + out.divided / static_cast<double>(most->gpus);
  out.constant_share = out.constant / largest;
  if (out.constant > 0) out.most_speedup = (out.constant + out.divided) / out.constant;
  return out;
}

std::string describe(const ScalingLaw& law, std::int64_t most_gpus) {
  std::string out = std::to_string(std::lround(100 * law.constant_share)) + " % of the time on " +
                    std::to_string(most_gpus) + " GPUs is not shared out, however many there are";
  if (law.grows) out += "; and something grows with their number";
  return out;
}

}  // namespace stepsight
