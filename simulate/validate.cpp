#include "simulate/validate.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

namespace {

ErrorSummary summary_of(const std::vector<double>& errors) {
  ErrorSummary s;
  s.n = errors.size();
  if (errors.empty()) return s;
  std::vector<double> absolute;
  for (const double e : errors) {
    absolute.push_back(std::abs(e));
    s.bias += e;
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

std::vector<const ValidationPoint*> pointers(const std::vector<ValidationPoint>& points) {
  std::vector<const ValidationPoint*> every;
  for (const ValidationPoint& p : points) every.push_back(&p);
  return every;
}

class AgreementOf {
 public:
  void add(double difference, double tolerance) {
    differences_.push_back(std::abs(difference));
    within_ += differences_.back() <= tolerance ? 1 : 0;
  }
  [[nodiscard]] Agreement summary() {
    if (differences_.empty()) return {};
    std::ranges::sort(differences_);
    return {
        differences_.size(), within_, differences_[differences_.size() / 2], differences_.back()};
  }

 private:
  std::vector<double> differences_;
  std::size_t within_ = 0;
};

void count_intervals(const std::vector<const ValidationPoint*>& points, ErrorSummary& s) {
  std::vector<double> widths;
  std::size_t covered = 0;
  for (const ValidationPoint* p : points) {
    if (!p->undoubted || p->interval.p50 <= 0) continue;
    widths.push_back((p->interval.p95 - p->interval.p5) / p->interval.p50);
    covered += p->covered() ? 1 : 0;
  }
  s.intervals = widths.size();
  if (widths.empty()) return;
  std::ranges::sort(widths);
  s.coverage90 = static_cast<double>(covered) / static_cast<double>(s.intervals);
  s.median_width = widths[widths.size() / 2];
}

}  // namespace

ErrorSummary summarise(const std::vector<const ValidationPoint*>& points) {
  std::vector<double> errors;
  for (const ValidationPoint* p : points) errors.push_back(p->error());
  ErrorSummary s = summary_of(errors);
  count_intervals(points, s);
  return s;
}

ErrorSummary summarise_memory(const std::vector<const ValidationPoint*>& points) {
  std::vector<double> errors;
  for (const ValidationPoint* p : points) {
    if (p->measured_peak > 0) errors.push_back(p->memory_error());
  }
  return summary_of(errors);
}

std::vector<ScalingPair> scaling_pairs(const std::vector<ValidationPoint>& points) {
  const auto table_of = [](const ValidationPoint& p) {
    const auto found = p.groups.find("table");
    return found == p.groups.end() ? std::string() : found->second;
  };
  std::map<std::string, std::vector<const ValidationPoint*>> ones;
  for (const ValidationPoint& p : points) {
    if (p.gpus == 1 && !p.work.empty()) ones[p.work].push_back(&p);
  }
  std::vector<ScalingPair> pairs;
  for (const ValidationPoint& p : points) {
    if (p.gpus == 1) continue;
    const auto found = ones.find(p.work);
    if (found == ones.end()) continue;
    const auto& list = found->second;
    const auto same =
        std::ranges::find(list, table_of(p), [&](const auto* one) { return table_of(*one); });
    pairs.push_back({same == list.end() ? list.front() : *same, &p});
  }
  return pairs;
}

Agreement exposed_agreement(const std::vector<const ValidationPoint*>& points) {
  constexpr double relative = 0.1;
  constexpr double absolute_s = 1e-3;
  AgreementOf out;
  for (const ValidationPoint* p : points) {
    if (!p->measured_exposed_s) continue;
    out.add(p->predicted_exposed_s - *p->measured_exposed_s,
            std::max(relative * *p->measured_exposed_s, absolute_s));
  }
  return out.summary();
}

Agreement efficiency_agreement(const std::vector<ScalingPair>& pairs) {
  constexpr double points = 0.02;
  AgreementOf out;
  for (const ScalingPair& pair : pairs) out.add(pair.predicted() - pair.measured(), points);
  return out.summary();
}

Agreement Validation::exposed() const {
  return exposed_agreement(pointers(points));
}

Agreement Validation::efficiency() const {
  return efficiency_agreement(scaling_pairs(points));
}

ErrorSummary Validation::memory() const {
  return summarise_memory(pointers(points));
}

ErrorSummary Validation::all() const {
  return summarise(pointers(points));
}

std::map<std::string, ErrorSummary> Validation::by(const std::string& group) const {
  std::map<std::string, std::vector<const ValidationPoint*>> parts;
  for (const ValidationPoint& p : points) parts[p.groups.at(group)].push_back(&p);
  std::map<std::string, ErrorSummary> out;
  for (const auto& [value, list] : parts) out[value] = summarise(list);
  return out;
}

}  // namespace stepsight
