#include "simulate/input_spread.h"

#include <algorithm>
#include <cmath>

#include "model/class_profile.h"
#include "model/link_class.h"

namespace stepsight {

namespace {

constexpr double sd_of_median = 1 / 0.6745;
constexpr double least_spread = 0.01;           // of two machines of one kind
constexpr double between_sizes_spread = 0.2;    // half of what a class value has
constexpr double given_bandwidth_spread = 0.1;  // "@12" is a figure with two digits
constexpr double host_spread = 0.33;
// A slow-down of 10 % that was measured with products and copies alone came out half as much again
// in whole steps (README.md, two cards).
constexpr double overlap_spread = 0.05;
constexpr double power_spread = 0.05;
constexpr double host_memory_spread = 0.5;  // a factor of two lies within 1.4 standard deviations

double error_of(const FitQuality& q) {
  const double median = q.held_out_points > 0 ? q.held_out_median_error : q.fitted_median_error;
  return std::max(median * sd_of_median, least_spread);
}

// The mean square over the groups of that name, or that begin with it and a dot, weighted by
// points.
InputSpread spread_of(const GpuProfile& gpu, std::string_view name) {
  double squares = 0, points = 0;
  for (const FitQuality& q : gpu.quality) {
    const std::string_view group = q.group;
    const bool of_it =
        group == name || (group.starts_with(name) && group.substr(name.size()).starts_with('.'));
    if (!of_it || q.fitted_points <= 0) continue;
    squares += q.fitted_points * error_of(q) * error_of(q);
    points += q.fitted_points;
  }
  if (points <= 0) return {class_value_spread, InputOrigin::class_value};
  return {std::sqrt(squares / points), InputOrigin::measured};
}

// Relative standard deviation of one parameter; 0 where the profile does not say.
double parameter_spread(const GpuProfile& gpu, std::string_view name) {
  for (const ParameterRecord& r : gpu.records) {
    if (r.name == name && r.points > 0 && r.value > 0) return std::min(r.sd / r.value, 1.0);
  }
  return 0;
}

InputSpread with(InputSpread spread, double more) {
  spread.log_sd = std::hypot(spread.log_sd, more);
  return spread;
}

InputSpread products(const GpuProfile& gpu, Dtype type) {
  const std::string group = "gemm." + std::string(info(type).name);
  return with(spread_of(gpu, group), parameter_spread(gpu, group + ".peak_TFLOPS"));
}

InputSpread passes_spread(const GpuProfile& gpu) {
  return with(spread_of(gpu, "pass"), parameter_spread(gpu, "pass.copy.bandwidth_TBps"));
}

InputSpread convolutions(const GpuProfile& gpu) {
  const InputSpread forward = spread_of(gpu, "conv");
  const InputSpread backward = spread_of(gpu, "conv_dgrad");
  return forward.log_sd > backward.log_sd ? forward : backward;
}

double error_of_curve(const GpuProfile& gpu, const Cluster& cluster, const CollectiveCurve& curve) {
  const std::string group = std::string(info(curve.kind).name) + "." + std::to_string(curve.ranks);
  for (const FitQuality& q : gpu.quality) {
    if (q.group == curve.link + "." + group) return error_of(q);
  }
  if (cluster.facts && cluster.facts->measured) {
    for (const FitQuality& q : cluster.facts->measured->quality) {
      if (q.group == group) return error_of(q);
    }
  }
  return between_sizes_spread;
}

// The least sure of the links that a step uses speaks for all.
struct LinkSpread {
  InputSpread latency, bandwidth;

  void add(const GpuProfile& gpu, const Cluster& cluster, const Link& link) {
    if (link.kind != Link::Kind::collective) return;
    InputSpread spread{link_class_spread, InputOrigin::class_value};
    if (link.origin == CurveOrigin::measured) {
      spread = {error_of_curve(gpu, cluster, *link.curve), InputOrigin::measured};
    } else if (link.origin == CurveOrigin::interpolated) {
      spread = {between_sizes_spread, InputOrigin::between_measured};
    }
    const auto widen = [&](InputSpread& of) {
      if (spread.log_sd > of.log_sd) of = spread;
    };
    widen(latency);
    const bool given =
        cluster.facts && cluster.facts->link_class && cluster.facts->link_class->busbw_GBps > 0;
    if (given && link.origin == CurveOrigin::class_value) {
      spread = {given_bandwidth_spread, InputOrigin::measured};
    }
    widen(bandwidth);
  }
};

}  // namespace

InputSpreads input_spreads(const GpuProfile& gpu,
                           const Scenario& scenario,
                           const StepLinks& links) {
  InputSpreads out;
  const auto set = [&](StepInput input, InputSpread spread) { out[index(input)] = spread; };
  set(StepInput::products, products(gpu, scenario.training.precision.compute));
  set(StepInput::attention,
      with(spread_of(gpu, "attention"), parameter_spread(gpu, "attention.forward.peak_TFLOPS")));
  set(StepInput::convolutions, convolutions(gpu));
  set(StepInput::memory, passes_spread(gpu));
  InputSpread host = spread_of(gpu, "host");
  host.log_sd = std::max(host.log_sd, host_spread);
  set(StepInput::host, host);
  LinkSpread link;
  for (const auto& kinds : links.groups) {
    for (const Link& l : kinds) link.add(gpu, scenario.cluster, l);
  }
  for (const Link* l : {&links.gradients, &links.neighbours, &links.ends}) {
    link.add(gpu, scenario.cluster, *l);
  }
  set(StepInput::link_latency, link.latency);
  set(StepInput::link_bandwidth, link.bandwidth);
  const bool overlap_measured = parameter_spread(gpu, "overlap.memory_under_collective") > 0;
  const InputOrigin overlap_origin =
      overlap_measured ? InputOrigin::measured : InputOrigin::class_value;
  set(StepInput::overlap, {overlap_measured ? overlap_spread : 2 * overlap_spread, overlap_origin});
  const double copies = parameter_spread(gpu, "copy.device_to_host.bandwidth_GBps");
  if (copies > 0) {
    set(StepInput::copies, {std::max(copies, least_spread), InputOrigin::measured});
  } else {
    set(StepInput::copies, {class_value_spread, InputOrigin::class_value});
  }
  if (scenario.cluster.host_memory_GBps > 0) {
    set(StepInput::host_memory, {given_bandwidth_spread, InputOrigin::measured});
  } else {
    set(StepInput::host_memory, {host_memory_spread, InputOrigin::class_value});
  }
  const InputSpread power = spread_of(gpu, "power");
  set(StepInput::power, {std::max(power.log_sd, power_spread), power.origin});
  return out;
}

std::string measuring_command(StepInput input, const Cluster& cluster) {
  if (input == StepInput::host_memory) return "";
  if (input == StepInput::link_latency || input == StepInput::link_bandwidth) {
    const std::string gpus =
        std::to_string(std::max<std::int64_t>(cluster.gpus / cluster.nodes, 1));
    const std::string sweep = "all_reduce_perf -b 1K -e 1G -f 2 -g " + gpus + " > sweep.log";
    return (cluster.nodes > 1 ? "mpirun over all machines: " : "") + sweep +
           "; stepsight fit sweep.log --link my-link --link-only -o my-link.toml";
  }
  const bool full = input == StepInput::power || input == StepInput::overlap;
  return std::string("stepsight calibrate --") + (full ? "full" : "quick") + " -o my-card.toml";
}

}  // namespace stepsight
