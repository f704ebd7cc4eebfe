// Matrix products: a group a number format.
#include "model/fit/fit_group.h"
#include "model/fit/fit_state.h"

namespace stepsight {

namespace {

std::size_t index(Dtype type) {
  return static_cast<std::size_t>(type);
}

std::optional<Dtype> measured_sibling(const FitState& f, Dtype type) {
  const auto measured = [&](Dtype t) { return !f.out.profile.gemm_points[index(t)].empty(); };
  const auto& rates = f.out.profile.vendor_TFLOPS;
  if (rates[index(type)] <= 0 && measured(Dtype::fp32)) return Dtype::fp32;
  if (rates[index(type)] <= 0 || type == Dtype::fp32 || type == Dtype::fp8) return std::nullopt;
  for (const Dtype narrow : {Dtype::bf16, Dtype::fp16}) {
    if (measured(narrow) && rates[index(narrow)] > 0) return narrow;
  }
  return std::nullopt;
}

// A number format that was not measured. One that the card does not offer computes in fp32; the
// tensor cores' formats share their utilisation of the vendor's peak rate where one was measured;
// else it is the reference card's, and without one bf16's.
void class_gemm(FitState& f, Dtype type) {
  if (const std::optional<Dtype> sibling = measured_sibling(f, type)) {
    GemmParameters<double> p = f.out.profile.gemm[index(*sibling)];
    const auto& rates = f.out.profile.vendor_TFLOPS;
    if (rates[index(type)] > 0) {
      // As the formats stand to each other on the reference card, if there is one.
      p.peak_TFLOPS *= f.options.reference ? f.class_values.gemm[index(type)].peak_TFLOPS /
                                                 f.class_values.gemm[index(*sibling)].peak_TFLOPS
                                           : rates[index(type)] / rates[index(*sibling)];
    }
    f.out.profile.gemm[index(type)] = p;
    record(f,
           "gemm." + std::string(info(type).name),
           p,
           nullptr,
           0,
           "class value: utilisation as gemm." + std::string(info(*sibling).name));
    return;
  }
  if (f.options.reference) {
    f.out.profile.gemm[index(type)] = f.class_values.gemm[index(type)];
    record(f,
           "gemm." + std::string(info(type).name),
           f.class_values.gemm[index(type)],
           nullptr,
           0,
           f.class_source);
    return;
  }
  GemmParameters<double> p = f.out.profile.gemm_points[index(Dtype::bf16)].empty()
                                 ? class_values<GemmParameters>()
                                 : f.out.profile.gemm[index(Dtype::bf16)];
  const auto& vendor = f.out.profile.vendor_TFLOPS;
  if (vendor[index(type)] > 0 && vendor[index(Dtype::bf16)] > 0) {
    p.peak_TFLOPS *= vendor[index(type)] / vendor[index(Dtype::bf16)];
  }
  f.out.profile.gemm[index(type)] = p;
  record(f,
         "gemm." + std::string(info(type).name),
         p,
         nullptr,
         0,
         "class value: utilisation as gemm.bf16");
}

}  // namespace

void fit_gemms(FitState& f) {
  const Multiprocessors sms = multiprocessors_of(f.out.profile);
  for (const DtypeInfo& type : dtypes) {
    GroupInput<GemmPoint> group;
    group.name = "gemm." + std::string(type.name);
    group.op = "gemm";
    group.interpolation = Interpolation::average;
    group.judged_from_us = 10;
    group.type = type.name;
    for (const GemmPoint& p : f.measured.gemms) {
      if (p.gemm.dtype == type.dtype) group.points.push_back(p);
    }
    if (group.points.empty()) continue;
    group.shape = [](const GemmPoint& p) {
      const Gemm& g = p.gemm;
      return std::array<std::int64_t, 6>{
          g.m, g.n, g.k, g.batch, static_cast<std::int64_t>(g.layout), 0};
    };
    group.at = [](const GemmPoint& p) { return surface_point(p.gemm); };
    GemmParameters<double> start = f.options.reference ? f.class_values.gemm[index(type.dtype)]
                                                       : class_values<GemmParameters>();
    std::optional<double> class_bandwidth;
    if (f.options.reference) class_bandwidth = start.bandwidth_TBps;
    const double vendor = f.out.profile.vendor_TFLOPS[index(type.dtype)];
    if (vendor > 0) start.peak_TFLOPS = 0.75 * vendor;
    group.solve = [&](const std::vector<GemmPoint>& points) {
      return solve_gemms(points, start, sms, class_bandwidth);
    };
    group.formula_us = [&](const GemmPoint& p, const std::vector<double>& values) {
      return gemm_formula(p.gemm, unpacked<GemmParameters>(values), sms).value * 1e6;
    };
    GroupOutcome done = fit_group(group, f.out.points);
    f.out.profile.gemm[index(type.dtype)] = unpacked<GemmParameters>(done.solution.values);
    f.out.profile.gemm_points[index(type.dtype)] = std::move(done.surface);
    f.out.profile.quality.push_back(done.quality);
    record(f,
           group.name,
           f.out.profile.gemm[index(type.dtype)],
           &done.solution,
           done.quality.fitted_points,
           sources_of(f, group.points));
  }
  for (const DtypeInfo& type : dtypes) {
    if (f.out.profile.gemm_points[index(type.dtype)].empty()) class_gemm(f, type.dtype);
  }
}

}  // namespace stepsight
