#include "model/fit/fit_profile.h"

#include <map>
#include <set>

#include "model/class_profile.h"
#include "model/errors.h"
#include "model/fit/fit_collectives.h"
#include "model/fit/fit_group.h"
#include "model/fit/fit_host.h"
#include "model/power.h"

namespace stepsight {

namespace {

std::size_t index(Dtype type) { return static_cast<std::size_t>(type); }

template <template <typename> typename Parameters>
Parameters<double> unpacked(const std::vector<double>& values) {
  Parameters<double> out{};
  std::size_t i = 0;
  for (const auto& field : Parameters<double>::fields()) out.*field.member = values[i++];
  return out;
}

// Fits group after group into one profile.
class ProfileFit {
 public:
  ProfileFit(const GpuProfile& gpu, const Measurements& m, const FitOptions& options)
      : m_(m), options_(options) {
    if (options.reference) {
      class_ = class_profile(gpu, *options.reference);
      class_source_ = class_.sources.front();
    } else {
      class_.attention.fill(class_values<AttentionParameters>());
      class_.host = class_values<HostParameters>();
      class_.host_to_device = class_.device_to_host = class_values<CopyParameters>();
      class_.overlap = class_values<OverlapParameters>();
      class_.power = class_values<PowerParameters>();
      class_.launch = class_values<LaunchParameters>();
    }
    GpuProfile& p = out_.profile;
    p.name = gpu.name;
    p.title = gpu.title;
    p.multiprocessors = gpu.multiprocessors;
    p.memory_bytes = gpu.memory_bytes;
    p.l2_bytes = gpu.l2_bytes;
    p.hbm_TBps = gpu.hbm_TBps;
    p.power_W = gpu.power_W;
    p.pcie_GBps = gpu.pcie_GBps;
    p.driver_name = gpu.driver_name;
    p.vendor_TFLOPS = gpu.vendor_TFLOPS;
    p.sources = m.sources;
  }

  FittedProfile fit();

 private:
  template <template <typename> typename Parameters>
  void record(const std::string& prefix, const Parameters<double>& values, const Solution* solution,
              int points, const std::string& source);
  template <typename Point>
  std::string sources_of(const std::vector<Point>& points) const;

  void fit_gemms();
  void class_gemm(Dtype type);
  std::optional<Dtype> measured_sibling(Dtype type) const;
  void fit_attention(bool backward);
  void fit_passes();
  void class_pass(const PassInfo& info);
  void fit_copies(bool to_device);
  void fit_host();
  void fit_launch();
  void fit_overlap();
  void fit_power();
  void fit_collectives();

  const Measurements& m_;
  const FitOptions& options_;
  GpuProfile class_;  // what stands in for what was not measured
  std::string class_source_ = "class value";
  FittedProfile out_;
};

template <template <typename> typename Parameters>
void ProfileFit::record(const std::string& prefix, const Parameters<double>& values,
                        const Solution* solution, int points, const std::string& source) {
  std::size_t i = 0;
  for (const auto& field : Parameters<double>::fields()) {
    ParameterRecord r;
    r.name = prefix + "." + std::string(field.info.name);
    r.value = values.*field.member;
    const bool determined = solution != nullptr && solution->determined[i];
    r.sd = determined ? solution->deviations[i] : class_value_spread * r.value;
    r.points = determined ? points : 0;
    r.source = determined || solution == nullptr ? source : source + " (not determined by them)";
    out_.profile.records.push_back(std::move(r));
    ++i;
  }
}

template <typename Point>
std::string ProfileFit::sources_of(const std::vector<Point>& points) const {
  std::set<std::string> names;
  for (const Point& p : points) names.insert(m_.sources[p.source]);
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

void ProfileFit::fit_gemms() {
  const int sms = out_.profile.multiprocessors;
  for (const DtypeInfo& type : dtypes) {
    GroupInput<GemmPoint> group;
    group.name = "gemm." + std::string(type.name);
    group.op = "gemm";
    group.interpolation = Interpolation::average;
    group.judged_from_us = 10;
    group.type = type.name;
    for (const GemmPoint& p : m_.gemms) {
      if (p.gemm.dtype == type.dtype) group.points.push_back(p);
    }
    if (group.points.empty()) continue;
    group.shape = [](const GemmPoint& p) {
      const Gemm& g = p.gemm;
      return std::array<std::int64_t, 6>{g.m, g.n, g.k, g.batch, static_cast<std::int64_t>(g.layout), 0};
    };
    group.at = [](const GemmPoint& p) { return surface_point(p.gemm); };
    GemmParameters<double> start = options_.reference ? class_.gemm[index(type.dtype)]
                                                      : class_values<GemmParameters>();
    std::optional<double> class_bandwidth;
    if (options_.reference) class_bandwidth = start.bandwidth_TBps;
    const double vendor = out_.profile.vendor_TFLOPS[index(type.dtype)];
    if (vendor > 0) start.peak_TFLOPS = 0.75 * vendor;
    group.solve = [&](const std::vector<GemmPoint>& points) {
      return solve_gemms(points, start, sms, class_bandwidth);
    };
    group.formula_us = [&](const GemmPoint& p, const std::vector<double>& values) {
      return gemm_formula(p.gemm, unpacked<GemmParameters>(values), sms).value * 1e6;
    };
    GroupOutcome done = fit_group(group, out_.points);
    out_.profile.gemm[index(type.dtype)] = unpacked<GemmParameters>(done.solution.values);
    out_.profile.gemm_points[index(type.dtype)] = std::move(done.surface);
    out_.profile.quality.push_back(done.quality);
    record(group.name, out_.profile.gemm[index(type.dtype)], &done.solution,
           done.quality.fitted_points, sources_of(group.points));
  }
  for (const DtypeInfo& type : dtypes) {
    if (out_.profile.gemm_points[index(type.dtype)].empty()) class_gemm(type.dtype);
  }
}

std::optional<Dtype> ProfileFit::measured_sibling(Dtype type) const {
  const auto measured = [&](Dtype t) { return !out_.profile.gemm_points[index(t)].empty(); };
  const auto& rates = out_.profile.vendor_TFLOPS;
  if (rates[index(type)] <= 0 && measured(Dtype::fp32)) return Dtype::fp32;
  if (rates[index(type)] <= 0 || type == Dtype::fp32 || type == Dtype::fp8) return std::nullopt;
  for (const Dtype narrow : {Dtype::bf16, Dtype::fp16}) {
    if (measured(narrow) && rates[index(narrow)] > 0) return narrow;
  }
  return std::nullopt;
}

// A number format that was not measured. One that the card does not offer computes in fp32; the
// tensor cores' formats share their utilisation of the vendor's peak rate where one was measured; else
// it is the reference card's, and without one bf16's.
void ProfileFit::class_gemm(Dtype type) {
  if (const std::optional<Dtype> sibling = measured_sibling(type)) {
    GemmParameters<double> p = out_.profile.gemm[index(*sibling)];
    const auto& rates = out_.profile.vendor_TFLOPS;
    if (rates[index(type)] > 0) {
      // As the formats stand to each other on the reference card, if there is one.
      p.peak_TFLOPS *= options_.reference ? class_.gemm[index(type)].peak_TFLOPS /
                                                class_.gemm[index(*sibling)].peak_TFLOPS
                                          : rates[index(type)] / rates[index(*sibling)];
    }
    out_.profile.gemm[index(type)] = p;
    record("gemm." + std::string(info(type).name), p, nullptr, 0,
           "class value: utilisation as gemm." + std::string(info(*sibling).name));
    return;
  }
  if (options_.reference) {
    out_.profile.gemm[index(type)] = class_.gemm[index(type)];
    record("gemm." + std::string(info(type).name), class_.gemm[index(type)], nullptr, 0,
           class_source_);
    return;
  }
  GemmParameters<double> p = out_.profile.gemm_points[index(Dtype::bf16)].empty()
                                 ? class_values<GemmParameters>()
                                 : out_.profile.gemm[index(Dtype::bf16)];
  const auto& vendor = out_.profile.vendor_TFLOPS;
  if (vendor[index(type)] > 0 && vendor[index(Dtype::bf16)] > 0) {
    p.peak_TFLOPS *= vendor[index(type)] / vendor[index(Dtype::bf16)];
  }
  out_.profile.gemm[index(type)] = p;
  record("gemm." + std::string(info(type).name), p, nullptr, 0,
         "class value: utilisation as gemm.bf16");
}

void ProfileFit::fit_attention(bool backward) {
  GroupInput<AttentionPoint> group;
  group.name = backward ? "attention.backward" : "attention.forward";
  group.op = backward ? "attention_backward" : "attention";
  group.type = "bf16";
  for (const AttentionPoint& p : m_.attentions) {
    if (p.attention.backward == backward) group.points.push_back(p);
  }
  const std::size_t side = backward ? 1 : 0;
  const int sms = out_.profile.multiprocessors;
  if (group.points.empty()) {
    out_.profile.attention[side] = class_.attention[side];
    record(group.name, out_.profile.attention[side], nullptr, 0, class_source_);
    return;
  }
  group.shape = [](const AttentionPoint& p) {
    const Attention& a = p.attention;
    return std::array<std::int64_t, 6>{a.batch, a.heads,    a.kv_heads,
                                       a.seq,   a.head_dim, (a.causal ? 1 : 0) + (a.dropout ? 2 : 0)};
  };
  group.at = [](const AttentionPoint& p) { return surface_point(p.attention); };
  group.solve = [&](const std::vector<AttentionPoint>& points) {
    return solve_attention(points, class_values<AttentionParameters>(), sms);
  };
  group.formula_us = [&](const AttentionPoint& p, const std::vector<double>& values) {
    return attention_formula(p.attention, unpacked<AttentionParameters>(values), sms).value * 1e6;
  };
  GroupOutcome done = fit_group(group, out_.points);
  out_.profile.attention[side] = unpacked<AttentionParameters>(done.solution.values);
  out_.profile.attention_points[side] = std::move(done.surface);
  out_.profile.quality.push_back(done.quality);
  record(group.name, out_.profile.attention[side], &done.solution, done.quality.fitted_points,
         sources_of(group.points));
}

void ProfileFit::fit_passes() {
  out_.profile.pass.fill(class_values<PassParameters>());
  for (const PassInfo& row : passes) {
    GroupInput<PassPoint> group;
    group.name = "pass." + std::string(row.name);
    group.op = row.name;
    for (const PassPoint& p : m_.passes) {
      if (p.pass.kind == row.kind) group.points.push_back(p);
    }
    if (group.points.empty()) continue;
    for (PassPoint& p : group.points) {
      if (p.filled_rows == 0) continue;
      // The table's fill is a pass of its own, fitted before (it comes first among the kinds).
      const Pass fill{PassKind::fill, p.filled_rows, p.pass.cols, p.pass.dtype};
      p.time_us = std::max(0.2 * p.time_us, p.time_us - cost(fill, out_.profile).time.value * 1e6);
    }
    group.shape = [](const PassPoint& p) {
      return std::array<std::int64_t, 6>{p.pass.rows, p.pass.cols, 0, 0, 0, static_cast<std::int64_t>(p.pass.dtype)};
    };
    group.at = [](const PassPoint& p) { return surface_point(p.pass); };
    group.solve = [](const std::vector<PassPoint>& points) {
      return solve_passes(points, class_values<PassParameters>());
    };
    group.formula_us = [](const PassPoint& p, const std::vector<double>& values) {
      return pass_formula(p.pass, unpacked<PassParameters>(values)).value * 1e6;
    };
    GroupOutcome done = fit_group(group, out_.points);
    const auto kind = static_cast<std::size_t>(row.kind);
    out_.profile.pass[kind] = unpacked<PassParameters>(done.solution.values);
    out_.profile.pass_points[kind] = std::move(done.surface);
    out_.profile.quality.push_back(done.quality);
    record(group.name, out_.profile.pass[kind], &done.solution, done.quality.fitted_points,
           sources_of(group.points));
  }
  for (const PassInfo& row : passes) {
    if (out_.profile.pass_points[static_cast<std::size_t>(row.kind)].empty()) class_pass(row);
  }
}

// A kind that was not measured moves its bytes as a vectorised add does.
void ProfileFit::class_pass(const PassInfo& row) {
  const auto add = static_cast<std::size_t>(PassKind::add);
  const bool known = !out_.profile.pass_points[add].empty();
  PassParameters<double>& p = out_.profile.pass[static_cast<std::size_t>(row.kind)];
  if (options_.reference) {
    p = class_.pass[static_cast<std::size_t>(row.kind)];
    record("pass." + std::string(row.name), p, nullptr, 0, class_source_);
    return;
  }
  p = known ? out_.profile.pass[add] : class_values<PassParameters>();
  record("pass." + std::string(row.name), p, nullptr, 0,
         known ? "class value: as pass.add" : "class value");
}

void ProfileFit::fit_copies(bool to_device) {
  std::vector<CopyPoint> points;
  for (const CopyPoint& p : m_.copies) {
    if (p.to_device == to_device) points.push_back(p);
  }
  CopyParameters<double>& into =
      to_device ? out_.profile.host_to_device : out_.profile.device_to_host;
  const std::string name = to_device ? "copy.host_to_device" : "copy.device_to_host";
  into = to_device ? class_.host_to_device : class_.device_to_host;
  if (points.size() < 2) {
    record(name, into, nullptr, 0, class_source_);
    return;
  }
  const Solution solution = solve_copies(points, into);
  into = unpacked<CopyParameters>(solution.values);
  record(name, into, &solution, static_cast<int>(points.size()), sources_of(points));
}

void ProfileFit::fit_host() {
  HostParameters<double>& host = out_.profile.host;
  host = class_.host;
  if (m_.hosts.empty()) {
    record("host", host, nullptr, 0, class_source_);
    return;
  }
  std::vector<HostPoint> fitted;
  std::vector<HostPoint> kept;
  for (const HostPoint& p : m_.hosts) {
    // Whole models are held out, not phases of one.
    const auto family = static_cast<std::int64_t>(p.shape.family);
    (held_out({p.shape.layers, family, p.training.compile, 0, 0, 0}) ? kept : fitted).push_back(p);
  }
  if (fitted.empty()) std::swap(fitted, kept);
  const HostSolution machines = solve_host_machines(fitted, host);
  const Solution& solution = machines.solution;
  host = host_parameters(solution);
  const auto errors = [&](const std::vector<HostPoint>& points) {
    std::vector<double> out;
    for (const HostPoint& p : points) {
      const auto factor = machines.factors.find(p.source);
      const double machine = factor == machines.factors.end() ? 1 : factor->second;
      const HostCounts c = host_counts(p);
      out.push_back(std::abs(machine * host_time_us(c, host) / c.time_us - 1));
    }
    return out;
  };
  FitQuality q{"host", static_cast<int>(fitted.size()), static_cast<int>(kept.size()),
               median(errors(fitted)), 0, 0};
  if (!kept.empty()) {
    q.held_out_median_error = median(errors(kept));
    q.held_out_p90_error = percentile(errors(kept), 0.9);
  }
  out_.profile.quality.push_back(q);
  record("host", host, &solution, q.fitted_points, sources_of(m_.hosts));
}

// The operators' own times hold a graph's gap; a stream's is longer by the difference.
void ProfileFit::fit_launch() {
  std::vector<double> gaps[2];
  for (const GapPoint& p : m_.gaps) gaps[p.stream ? 1 : 0].push_back(p.time_us);
  out_.profile.launch = class_.launch;
  if (gaps[0].empty() || gaps[1].empty()) {
    record("launch", out_.profile.launch, nullptr, 0, class_source_);
    return;
  }
  const auto field = LaunchParameters<double>::fields().front();
  ParameterRecord r{"launch." + std::string(field.info.name), 0, 0, 0, sources_of(m_.gaps)};
  r.value = std::clamp(median(gaps[1]) - median(gaps[0]), field.info.lower, field.info.upper);
  r.sd = 0.05 * r.value;
  r.points = static_cast<int>(m_.gaps.size());
  out_.profile.launch.*field.member = r.value;
  out_.profile.records.push_back(std::move(r));
}

void ProfileFit::fit_overlap() {
  OverlapParameters<double>& overlap = out_.profile.overlap;
  overlap = class_.overlap;
  // The pairs are in the order of the fields.
  std::size_t pair = 0;
  for (const auto& field : OverlapParameters<double>::fields()) {
    std::vector<double> rates;
    std::vector<OverlapPoint> points;
    for (const OverlapPoint& p : m_.overlaps) {
      if (static_cast<std::size_t>(p.pair) != pair) continue;
      rates.push_back(p.rate);
      points.push_back(p);
    }
    ++pair;
    ParameterRecord r{"overlap." + std::string(field.info.name), overlap.*field.member, 0.05, 0,
                      class_source_};
    if (!rates.empty()) {
      r.value = std::clamp(median(rates), field.info.lower, field.info.upper);
      r.sd = (percentile(rates, 0.84) - percentile(rates, 0.16)) / 2;
      r.points = static_cast<int>(rates.size());
      r.source = sources_of(points);
      overlap.*field.member = r.value;
    }
    out_.profile.records.push_back(std::move(r));
  }
}

void ProfileFit::fit_power() {
  PowerParameters<double>& power = out_.profile.power;
  power = class_.power;
  const auto fields = static_cast<std::size_t>(PowerParameters<double>::fields().size());
  if (m_.powers.size() < fields) {
    record("power", power, nullptr, 0, class_source_);
    return;
  }
  const Solution solution = solve_power(m_.powers, power);
  power = unpacked<PowerParameters>(solution.values);
  std::vector<double> errors;
  for (const PowerPoint& p : m_.powers) {
    errors.push_back(
        std::abs(power_formula(p.flop_per_s, p.bytes_per_s, p.clock, power) / p.power_W - 1));
  }
  const int count = static_cast<int>(m_.powers.size());
  out_.profile.quality.push_back({"power", count, 0, median(errors), 0, 0});
  record("power", power, &solution, count, sources_of(m_.powers));
}

void ProfileFit::fit_collectives() {
  FittedCurves fitted = stepsight::fit_collectives(m_, options_.link, out_.points);
  GpuProfile& p = out_.profile;
  p.collectives = std::move(fitted.curves);
  p.quality.insert(p.quality.end(), fitted.quality.begin(), fitted.quality.end());
  p.records.insert(p.records.end(), fitted.records.begin(), fitted.records.end());
}

FittedProfile ProfileFit::fit() {
  fit_gemms();
  fit_attention(false);
  fit_attention(true);
  fit_passes();
  fit_host();
  fit_copies(true);
  fit_copies(false);
  fit_launch();
  fit_overlap();
  fit_power();
  fit_collectives();
  return std::move(out_);
}

}  // namespace

double percentile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<std::size_t>(rank)];
}

double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

bool held_out(const std::array<std::int64_t, 6>& shape) {
  // FNV-1a over the first three sizes, so that layouts, masks and types of a shape go together.
  std::uint64_t hash = 14695981039346656037ULL;
  for (std::size_t i = 0; i < 3; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(shape[i])) * 1099511628211ULL;
    hash ^= hash >> 29;
  }
  return hash % 5 == 0;
}

FittedProfile fit_profile(const GpuProfile& gpu, const Measurements& measurements,
                          const FitOptions& options) {
  const Measurements& m = measurements;
  if (m.gemms.empty() && m.attentions.empty() && m.passes.empty() && m.copies.empty() &&
      m.collectives.empty() && m.hosts.empty()) {
    throw UserError("the measurement files hold no point to fit");
  }
  return ProfileFit(gpu, m, options).fit();
}

}  // namespace stepsight
