#include "model/io/logs/part_means.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

void PartMeans::add(std::string_view name, double least, double most) {
  constexpr std::size_t most_names = 100;
  constexpr double ten_years = 3.2e8;
  const auto is_time = [](double s) { return std::isfinite(s) && s >= 0 && s < ten_years; };
  if (!is_time(least) || !is_time(most) || name.empty() || name.size() > 100) return;
  auto known = std::ranges::find(sums_, name, &LoggedPart::name);
  if (known == sums_.end()) {
    if (sums_.size() == most_names) return;
    known = sums_.insert(sums_.end(), {std::string(name), 0, 0, 0, 0});
  }
  known->seconds += most;
  known->least += least;
  known->most += most;
  ++known->count;
}

std::vector<LoggedPart> PartMeans::parts() const {
  std::vector<LoggedPart> out = sums_;
  for (LoggedPart& part : out) {
    const double n = static_cast<double>(part.count);
    part.seconds /= n;
    part.least /= n;
    part.most /= n;
  }
  return out;
}

}  // namespace stepsight
