// Robust statistics of repeated timings. Times on a GPU have a long right tail (a clock change, an
// interrupt), so the median and the quartiles are kept rather than the mean.
#pragma once
#include <cstdint>
#include <span>

namespace stepsight::calibrate {

struct Summary {
  double median = 0;
  double q1 = 0;
  double q3 = 0;
  double mad = 0;  // median absolute deviation from the median
  double min = 0;
  std::int64_t n = 0;
};

// Value at fraction `p` (0..1) of the sorted samples, linear between neighbours (type 7 of Hyndman
// and Fan 1996). Throws std::logic_error when there is no sample.
double quantile(std::span<const double> sorted, double p);

// Throws std::logic_error when there is no sample.
Summary summarize(std::span<const double> samples);

// All five figures times `factor`: from seconds of a batch to microseconds of one launch, say.
Summary scaled(const Summary& summary, double factor);

// Standard error of the median as a fraction of the median: sqrt(pi/2) * sigma / sqrt(n), the
// normal approximation. sigma is the larger of 1.4826 * MAD and (q3 - q1) / 1.349: the MAD alone is
// 0 when times jump between two clocks and more than half of them are equal. 0 when all are equal.
double relative_spread(const Summary& summary);

// time = startup + bytes / bandwidth.
struct StartupFit {
  double startup_s = 0;
  double bytes_per_s = 0;
};

// Least squares on relative errors (weights 1 / time^2), so that the smallest message counts as
// much as the largest; the start-up cost is not drowned by gigabytes. At least two different sizes,
// or std::logic_error. A negative intercept is reported as 0 with the slope refitted through zero.
StartupFit fit_startup(std::span<const double> bytes, std::span<const double> seconds);

}  // namespace stepsight::calibrate
