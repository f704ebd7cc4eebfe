#include "simulate/validate.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

ErrorSummary summarise(const std::vector<const ValidationPoint*>& points) {
  ErrorSummary s;
  s.n = points.size();
  if (points.empty()) return s;
  std::vector<double> absolute;
  for (const ValidationPoint* p : points) {
    absolute.push_back(std::abs(p->error()));
    s.bias += p->error();
  }
  std::ranges::sort(absolute);
  const auto n = static_cast<double>(s.n);
  for (const double a : absolute) s.mape += a / n;
  s.bias /= n;
  const auto at = [&](double fraction) {
    return absolute[static_cast<std::size_t>(std::llround(fraction * (n - 1)))];
  };
  s.median_ape = at(0.5);
  s.p90_ape = at(0.9);
  s.worst_ape = absolute.back();
  return s;
}

ErrorSummary Validation::all() const {
  std::vector<const ValidationPoint*> every;
  for (const ValidationPoint& p : points) every.push_back(&p);
  return summarise(every);
}

std::map<std::string, ErrorSummary> Validation::by(const std::string& group) const {
  std::map<std::string, std::vector<const ValidationPoint*>> parts;
  for (const ValidationPoint& p : points) parts[p.groups.at(group)].push_back(&p);
  std::map<std::string, ErrorSummary> out;
  for (const auto& [value, list] : parts) out[value] = summarise(list);
  return out;
}

}  // namespace stepsight
