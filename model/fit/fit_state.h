// What the fits of all groups share, and what each adds to: one profile, group after group.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "model/class_profile.h"
#include "model/fit/fit_profile.h"
#include "model/fit/solve.h"

namespace stepsight {

struct FitState {
  const Measurements& measured;
  const FitOptions& options;
  GpuProfile class_values;  // what stands in for what was not measured
  std::string class_source = "class value";
  FittedProfile out;
};

// Each fits its group of parameters into `out`, or takes class values where nothing was measured.
// In this order: a convolution needs the fitted products, an embedding's backward the fitted fill,
// everything else stands alone.
void fit_gemms(FitState& f);
void fit_attention(FitState& f, bool backward);
void fit_convolutions(FitState& f, ConvolutionDirection direction);
void fit_passes(FitState& f);
void fit_host(FitState& f);
void fit_copies(FitState& f, bool to_device);
void fit_launch(FitState& f);
void fit_overlap(FitState& f);
void fit_power(FitState& f);
void fit_collectives(FitState& f);

// Solved values, in the order of the table, as the struct that formulas take.
template <template <typename> typename Parameters>
Parameters<double> unpacked(const std::vector<double>& values) {
  Parameters<double> out{};
  std::size_t i = 0;
  for (const auto& field : Parameters<double>::fields()) out.*field.member = values[i++];
  return out;
}

// A record a parameter. Without a solution: class values.
template <template <typename> typename Parameters>
void record(FitState& f,
            const std::string& prefix,
            const Parameters<double>& values,
            const Solution* solution,
            int points,
            const std::string& source) {
  std::size_t i = 0;
  for (const auto& field : Parameters<double>::fields()) {
    ParameterRecord r;
    r.name = prefix + "." + std::string(field.info.name);
    r.value = values.*field.member;
    const bool determined = solution != nullptr && solution->determined[i];
    r.sd = determined ? solution->deviations[i] : class_value_spread * r.value;
    r.points = determined ? points : 0;
    r.source = determined || solution == nullptr ? source : "not determined by the points";
    f.out.profile.records.push_back(std::move(r));
    ++i;
  }
}

// Names of the files that the points come from.
template <typename Point>
std::string sources_of(const FitState& f, const std::vector<Point>& points) {
  std::set<std::string> names;
  for (const Point& p : points) names.insert(f.measured.sources[p.source]);
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

}  // namespace stepsight
