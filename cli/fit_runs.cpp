#include "cli/fit_runs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <variant>

#include <fmt/format.h>

#include "cli/output.h"
#include "model/errors.h"
#include "model/io/builtin.h"
#include "model/io/link_file.h"
#include "model/io/profile_file.h"
#include "model/io/read_file.h"
#include "model/io/run_scenario.h"
#include "model/io/runs_csv.h"
#include "reports/refine_report.h"

namespace stepsight {

namespace {

// A row as a scenario on the machine's own profile; the reason where it cannot be predicted.
std::variant<MeasuredStep, Refusal> step_of(const MeasuredRun& run, const std::string& gpu) {
  const auto answer = scenario_of(run);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  MeasuredStep step{run.id, std::get<Scenario>(answer), run.step_time_s};
  step.scenario.cluster.gpu = gpu;
  if (step.scenario.cluster.gpus > 1) {
    step.scenario.cluster.facts = find_link(step.scenario.cluster.link, "");
    if (!step.scenario.cluster.facts->measured && !step.scenario.cluster.facts->link_class) {
      return Refusal{"link " + step.scenario.cluster.link};
    }
  }
  return step;
}

// The profile with its host's times as the runs say, and how sure they are now.
void refine_host(GpuProfile& gpu, const Refinement& refinement, std::size_t runs) {
  for (const RefinedInput& input : refinement.inputs) {
    if (input.input != StepInput::host) continue;
    for (const NamedParameter& p : named_parameters(gpu)) {
      if (!p.name.starts_with("host.")) continue;
      *p.value = std::clamp(*p.value * std::exp(input.change), p.info.lower, p.info.upper);
      for (ParameterRecord& record : gpu.records) {
        if (record.name != p.name) continue;
        record.value = *p.value;
        record.sd = *p.value * input.sd_after;
        record.source = fmt::format("{}; refined by {} measured runs", record.source, runs);
      }
    }
  }
}

// The measured points that lie over a profile's formulas; empty where it has none.
std::string points_beside(const std::string& profile) {
  if (!profile.ends_with(".toml")) {
    const auto file = find_named_file_if_any("profiles", profile, ".points.csv");
    return file ? file->text : "";
  }
  const std::string name = profile.substr(0, profile.size() - 5) + ".points.csv";
  return std::filesystem::exists(name) ? read_file(name, 64 * megabyte, "a table of points") : "";
}

void write_refined(const std::string& output, const std::string& profile, const GpuProfile& gpu) {
  const std::string name = profile_stem(output);
  const std::string points = points_beside(profile);
  if (!points.empty()) write_file_atomically(name + ".points.csv", points);
  write_file_atomically(output, profile_text(gpu));
}

}  // namespace

void fit_runs(const FitRunsQuestion& question) {
  if (question.gpu.empty()) throw UserError("fit --runs needs the machine's card or profile: --gpu");
  GpuProfile gpu = read_profile(question.gpu);
  RefineReport report;
  report.gpu = question.gpu;
  std::vector<MeasuredStep> steps;
  for (const std::string& file : question.files) {
    for (const MeasuredRun& run : read_runs(file)) {
      const auto step = step_of(run, question.gpu);
      if (const auto* refusal = std::get_if<Refusal>(&step)) {
        ++report.refused[refusal->reason];
      } else {
        steps.push_back(std::get<MeasuredStep>(step));
      }
    }
  }
  if (steps.size() < 2) {
    throw UserError(fmt::format("fit --runs: {} of the rows can be predicted, and two are needed", steps.size()));
  }
  report.refinement = refine(steps, gpu);
  if (!question.output.empty()) {
    refine_host(gpu, report.refinement, steps.size());
    write_refined(question.output, question.gpu, gpu);
  }
  const std::string text = question.json ? refine_json(report) : refine_text(report);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace stepsight
