#include "cli/fit_runs.h"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <span>
#include <variant>

#include <fmt/format.h>

#include "cli/links.h"
#include "cli/output.h"
#include "model/errors.h"
#include "model/io/builtin.h"
#include "model/io/link_file.h"
#include "model/io/profile_file.h"
#include "model/io/read_file.h"
#include "model/io/run_scenario.h"
#include "model/io/runs_csv.h"
#include "reports/refine_report.h"
#include "simulate/refined_machine.h"

namespace stepsight {

namespace {

// A row as a scenario on the machine's own profile; the reason where it cannot be predicted.
std::variant<MeasuredStep, Refusal> step_of(const MeasuredRun& run,
                                            const std::string& gpu,
                                            Links& links) {
  const auto answer = scenario_of(run);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  MeasuredStep step{run.id, std::get<Scenario>(answer), run.step_time_s};
  step.scenario.cluster.gpu = gpu;
  if (step.scenario.cluster.gpus > 1) {
    step.scenario.cluster.facts = links.get(step.scenario.cluster.link);
    if (!step.scenario.cluster.facts->measured && !step.scenario.cluster.facts->link_class) {
      return Refusal{"link " + step.scenario.cluster.link};
    }
  }
  return step;
}

// The measured points that lie over the formulas of a profile or a link; empty where it has none.
std::string points_beside(const char* folder, const std::string& name_or_file) {
  if (!name_or_file.ends_with(".toml")) {
    const auto file = find_named_file_if_any(folder, name_or_file, ".points.csv");
    return file ? file->text : "";
  }
  const std::string name = profile_stem(name_or_file) + ".points.csv";
  return std::filesystem::exists(name) ? read_file(name, 64 * megabyte, "a table of points") : "";
}

// A file's text with the measured points beside it: they stay where they lie over their formulas.
void write_with_points(const std::string& output,
                       const std::string& text,
                       const std::string& points) {
  if (!points.empty()) write_file_atomically(profile_stem(output) + ".points.csv", points);
  write_file_atomically(output, text);
}

// "mine.toml" of the link "pcie4-x16-nop2p" (or of a file of one): "mine-pcie4-x16-nop2p.toml".
std::string link_file_name(const std::string& output, const std::string& link) {
  std::string name = std::filesystem::path(profile_stem(link)).filename().string();
  for (char& c : name) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    if (!plain) c = '-';
  }
  return profile_stem(output) + "-" + name + ".toml";
}

// The profile, and a file for each link that the profile does not have itself; the links' names in
// it.
std::vector<std::string> write_refined(const FitRunsQuestion& question,
                                       const GpuProfile& gpu,
                                       const Refinement& refinement,
                                       std::span<const MeasuredStep> steps) {
  std::vector<std::string> out;
  write_with_points(question.output,
                    profile_text(refined_profile(gpu, refinement, steps)),
                    points_beside("profiles", question.gpu));
  for (const RefinedLink& refined : refined_links(gpu, refinement, steps)) {
    const std::string file = link_file_name(question.output, refined.link.name);
    write_with_points(file,
                      measured_link_text(refined.link, refined.records),
                      points_beside("links", refined.was));
    out.push_back(file);
  }
  return out;
}

}  // namespace

void fit_runs(const FitRunsQuestion& question) {
  if (question.gpu.empty())
    throw UserError("fit --runs needs the machine's card or profile: --gpu");
  const GpuProfile gpu = read_profile(question.gpu);
  RefineReport report;
  report.gpu = question.gpu;
  std::vector<MeasuredStep> steps;
  Links links;
  for (const std::string& file : question.files) {
    for (const MeasuredRun& run : read_runs(file)) {
      const auto step = step_of(run, question.gpu, links);
      if (const auto* refusal = std::get_if<Refusal>(&step)) {
        ++report.refused[refusal->reason];
      } else {
        steps.push_back(std::get<MeasuredStep>(step));
      }
    }
  }
  if (steps.size() < 2) {
    throw UserError(fmt::format("fit --runs: {} of the rows can be predicted, and two are needed",
                                steps.size()));
  }
  report.refinement = refine(steps, gpu);
  if (!question.output.empty())
    report.links = write_refined(question, gpu, report.refinement, steps);
  const std::string text = question.json ? refine_json(report) : refine_text(report);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace stepsight
