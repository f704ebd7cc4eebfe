#include "model/model_error.h"

#include <cmath>

namespace stepsight {

double error_variance(const ModelError& error, const ErrorShares& shares) {
  double variance = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double part = error.sd[i] * shares[i];
    variance += part * part;
  }
  return variance;
}

Quantiles interval_of(double value, double log_scale, double low, double high) {
  return {value * std::exp(low * log_scale), value, value * std::exp(high * log_scale)};
}

}  // namespace stepsight
