#include "simulate/refined_machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "simulate/changed_inputs.h"

namespace stepsight {

namespace {

// What a parameter's name begins with, and the input that it belongs to.
constexpr std::array<std::pair<std::string_view, StepInput>, 8> inputs_of_names{{
    {"gemm.", StepInput::products},
    {"attention.", StepInput::attention},
    {"conv", StepInput::convolutions},
    {"pass.", StepInput::memory},
    {"host.", StepInput::host},
    {"copy.", StepInput::copies},
    {"overlap.", StepInput::overlap},
    {"power.", StepInput::power},
}};

StepInput input_of(std::string_view parameter) {
  for (const auto& [prefix, input] : inputs_of_names) {
    if (parameter.starts_with(prefix)) return input;
  }
  return StepInput::link_bandwidth;
}

// Standard deviations of inputs' logarithms, once the steps were heard; 0 where none uses it.
InputChanges spreads_after(const Refinement& refinement) {
  InputChanges out{};
  for (const RefinedInput& r : refinement.inputs) out[index(r.input)] = r.sd_after;
  return out;
}

std::string with_source(const std::string& source, std::size_t runs) {
  return source + "; refined by " + std::to_string(runs) + " measured runs";
}

void keep_in_bounds(CollectiveParameters<double>& p) {
  for (const auto& field : CollectiveParameters<double>::fields()) {
    p.*field.member = std::clamp(p.*field.member, field.info.lower, field.info.upper);
  }
}

std::string record_name(const CollectiveCurve& curve, std::string_view parameter) {
  return "collective." + curve.link + "." + std::string(info(curve.kind).name) + "." +
         std::to_string(curve.ranks) + "." + std::string(parameter);
}

// Latency and ramp go with the one input, bandwidth with the other.
StepInput link_input(std::string_view parameter) {
  return parameter == "busbw_GBps" ? StepInput::link_bandwidth : StepInput::link_latency;
}

std::vector<ParameterRecord> records_of(const CollectiveCurve& curve,
                                        const InputChanges& spreads,
                                        int runs) {
  std::vector<ParameterRecord> out;
  for (const auto& field : CollectiveParameters<double>::fields()) {
    const double value = curve.parameters.*field.member;
    out.push_back({record_name(curve, field.info.name),
                   value,
                   value * spreads[index(link_input(field.info.name))],
                   runs,
                   curve.source});
  }
  return out;
}

bool exchanges(const MeasuredStep& step) {
  return step.scenario.cluster.gpus > 1 && !step.scenario.cluster.link.empty();
}

bool has_curves(const GpuProfile& gpu, const std::string& link) {
  return std::ranges::any_of(gpu.collectives,
                             [&](const CollectiveCurve& c) { return c.link == link; });
}

void replace_record(GpuProfile& gpu, const ParameterRecord& with) {
  for (ParameterRecord& r : gpu.records) {
    if (r.name == with.name) r = with;
  }
}

void refine_curves(GpuProfile& gpu,
                   const InputFactors& factors,
                   const InputChanges& spreads,
                   std::span<const MeasuredStep> steps) {
  std::set<std::string> used;
  for (const MeasuredStep& s : steps) {
    if (exchanges(s)) used.insert(s.scenario.cluster.link);
  }
  for (CollectiveCurve& c : gpu.collectives) {
    if (!used.contains(c.link)) continue;
    scale(c.parameters, factors);
    keep_in_bounds(c.parameters);
    c.source = with_source(c.source, steps.size());
    for (ParameterRecord& now : records_of(c, spreads, 0)) {
      for (const ParameterRecord& r : gpu.records) {
        if (r.name == now.name) now.points = r.points;
      }
      replace_record(gpu, now);
    }
  }
}

// The fit's error that gives a curve the standard deviation of its bandwidth: the median of a
// normal distribution's absolute values is 0.6745 of it.
FitQuality quality_of(const CollectiveCurve& curve, const InputChanges& spreads, int runs) {
  FitQuality out;
  out.group = std::string(info(curve.kind).name) + "." + std::to_string(curve.ranks);
  out.fitted_points = runs;
  out.fitted_median_error = 0.6745 * spreads[index(StepInput::link_bandwidth)];
  return out;
}

// Groups of a class's machines on which steps ran: all GPUs, and one machine's.
std::set<std::pair<std::int64_t, std::int64_t>> groups_of(
    std::span<const MeasuredStep* const> steps) {
  std::set<std::pair<std::int64_t, std::int64_t>> out;
  for (const MeasuredStep* s : steps) {
    const Cluster& c = s->scenario.cluster;
    out.insert({c.gpus, c.nodes});
    if (c.nodes > 1 && c.gpus / c.nodes > 1) out.insert({c.gpus / c.nodes, 1});
  }
  return out;
}

MeasuredLink link_of_class(const LinkFacts& facts, std::span<const MeasuredStep* const> steps) {
  MeasuredLink out;
  out.name = out.title = out.link_class_name = facts.name;
  out.link_class = *facts.link_class;
  out.gpus_per_node = 1;
  for (const MeasuredStep* s : steps) {
    const Cluster& c = s->scenario.cluster;
    out.gpus_per_node = std::max(out.gpus_per_node, c.gpus / c.nodes);
  }
  for (const auto& [ranks, nodes] : groups_of(steps)) {
    for (const CollectiveInfo& row : collectives) {
      const auto curve = link_curve(facts, {row.kind, ranks, nodes});
      if (curve) out.curves.push_back(curve->curve);
    }
  }
  return out;
}

RefinedLink refined_link(const std::string& name,
                         std::span<const MeasuredStep* const> steps,
                         const InputFactors& factors,
                         const InputChanges& spreads,
                         std::size_t runs) {
  const LinkFacts& facts = *steps.front()->scenario.cluster.facts;
  RefinedLink out{facts.measured ? *facts.measured : link_of_class(facts, steps), {}, name};
  out.link.title = with_source(out.link.title, runs);
  out.link.sources.push_back(std::to_string(runs) + " measured runs over " + name);
  out.link.quality.clear();
  for (CollectiveCurve& c : out.link.curves) {
    c.link = out.link.name;
    scale(c.parameters, factors);
    keep_in_bounds(c.parameters);
    c.source = with_source(c.source, runs);
    out.link.quality.push_back(quality_of(c, spreads, static_cast<int>(runs)));
    for (ParameterRecord& r : records_of(c, spreads, static_cast<int>(runs))) {
      out.records.push_back(std::move(r));
    }
  }
  return out;
}

}  // namespace

GpuProfile refined_profile(const GpuProfile& gpu,
                           const Refinement& refinement,
                           std::span<const MeasuredStep> steps) {
  GpuProfile out = gpu;
  GpuProfile before = gpu;
  const InputFactors factors = factors_of(refinement.changes());
  const InputChanges spreads = spreads_after(refinement);
  scale_compute(out, factors);
  scale_others(out, factors);
  const std::vector<NamedParameter> old = named_parameters(before);
  const std::vector<NamedParameter> now = named_parameters(out);
  for (std::size_t i = 0; i < now.size(); ++i) {
    double& value = *now[i].value;
    value = std::clamp(value, now[i].info.lower, now[i].info.upper);
    if (value == *old[i].value) continue;
    const double spread = spreads[index(input_of(now[i].name))];
    for (ParameterRecord& r : out.records) {
      if (r.name != now[i].name) continue;
      r.sd =
          std::abs(value) * (r.sd > 0 && r.value > 0 ? std::min(r.sd / r.value, spread) : spread);
      r.value = value;
      r.source = with_source(r.source, steps.size());
    }
  }
  refine_curves(out, factors, spreads, steps);
  return out;
}

std::vector<RefinedLink> refined_links(const GpuProfile& gpu,
                                       const Refinement& refinement,
                                       std::span<const MeasuredStep> steps) {
  std::map<std::string, std::vector<const MeasuredStep*>> by_link;
  for (const MeasuredStep& s : steps) {
    const std::string& link = s.scenario.cluster.link;
    if (exchanges(s) && !has_curves(gpu, link)) by_link[link].push_back(&s);
  }
  std::vector<RefinedLink> out;
  for (const auto& [name, users] : by_link) {
    out.push_back(refined_link(
        name, users, factors_of(refinement.changes()), spreads_after(refinement), steps.size()));
  }
  return out;
}

}  // namespace stepsight
