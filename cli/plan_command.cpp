#include <algorithm>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/profiles.h"
#include "cli/progress.h"
#include "cli/scenario_flags.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/model_error_file.h"
#include "model/io/scenario_file.h"
#include "reports/plan_report.h"
#include "simulate/plan.h"
#include "simulate/uncertainty.h"

namespace stepsight {

namespace {

struct PlanFlags : ScenarioFlags {
  std::string output;
  std::string candidates;
  std::string language = "en";
  unsigned threads = 0;
  bool json = false;
  bool exhaustive = false;
};

// Keys that the search itself sets: their arrays are what it chooses from.
constexpr std::array<std::string_view, 11> searched{"gpus",
                                                    "tensor",
                                                    "context",
                                                    "expert",
                                                    "pipeline",
                                                    "chunks",
                                                    "strategy",
                                                    "schedule",
                                                    "recompute",
                                                    "sequence",
                                                    "micro_batch"};

std::vector<std::int64_t> integers(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> out;
  for (const std::string& text : texts) out.push_back(std::stoll(text));
  return out;
}

// The reader has found every text among the words.
template <typename Enum, std::size_t N>
std::vector<Enum> enumerators(const std::vector<std::string>& texts,
                              const std::array<std::string_view, N>& words) {
  std::vector<Enum> out;
  for (const std::string& text : texts) {
    out.push_back(static_cast<Enum>(std::ranges::find(words, text) - words.begin()));
  }
  return out;
}

bool is_searched(const std::string& axis) {
  return std::ranges::find(searched, axis) != searched.end();
}

// The axes that are not searched.
std::vector<std::string> other_axes(const ScenarioPoints& points) {
  std::vector<std::string> out;
  std::ranges::copy_if(
      points.axes(), std::back_inserter(out), [](const auto& a) { return !is_searched(a); });
  return out;
}

struct Asked {
  PlanSpace space;
  std::vector<std::vector<std::string>> coordinates;  // of its bases on other_axes(), as written
};

// One base for every combination of the axes that are not searched.
void add_bases(ScenarioPoints& points, Asked& out) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::vector<std::size_t> at = points.coordinates(i);
    std::vector<std::string> place;
    bool first = true;
    for (std::size_t a = 0; a < at.size(); ++a) {
      if (is_searched(points.axes()[a])) {
        first = first && at[a] == 0;
      } else {
        place.push_back(points.axis_values()[a][at[a]]);
      }
    }
    if (!first) continue;
    out.space.bases.push_back(points.at(i));
    out.coordinates.push_back(std::move(place));
  }
  points.throw_mistakes();
}

Asked read_space(ScenarioPoints& points) {
  if (points.given("global_batch").empty()) {
    throw UserError(
        "plan needs global_batch in [training]: the sequences of a step over all GPUs, "
        "which it shares out");
  }
  if (!points.given("accumulation").empty()) {
    throw UserError("plan chooses accumulation itself: give micro_batch in [plan] to fix it");
  }
  if (!points.given("slowest_gpu").empty()) {
    throw UserError("plan does not know slowest_gpu: give slow_factor in [ranks] in its place");
  }
  if (points.given("gpu").empty()) throw UserError("plan needs a gpu in [cluster]");
  Asked out;
  add_bases(points, out);
  PlanSpace& space = out.space;
  space.gpus = integers(points.given("gpus"));
  if (space.gpus.empty()) space.gpus = {1};
  space.tensor = integers(points.given("tensor"));
  space.context = integers(points.given("context"));
  space.expert = integers(points.given("expert"));
  space.pipeline = integers(points.given("pipeline"));
  space.chunks = integers(points.given("chunks"));
  space.micro_batch = integers(points.given("micro_batch"));
  space.strategies = enumerators<Strategy>(points.given("strategy"), strategy_names);
  space.schedules = enumerators<PipelineSchedule>(points.given("schedule"), schedule_names);
  space.recompute = enumerators<Recompute>(points.given("recompute"), recompute_names);
  for (const std::string& text : points.given("sequence")) space.sequence.push_back(text == "true");
  return out;
}

ScenarioPoints read(const PlanFlags& flags) {
  const std::vector<KeyFlag> keys = key_flags(flags);
  if (flags.file.empty() && keys.empty()) {
    throw UserError("plan needs a scenario file, or flags: --model, --gpu, --gpus, --global-batch");
  }
  return flags.file.empty()
             ? read_scenario_points_text("command line", "", keys, PointRules::ignore)
             : read_scenario_points(flags.file, keys, PointRules::ignore);
}

std::string source_of(const PlanFlags& flags) {
  std::string out = flags.file;
  for (const std::string& key : flags.given) {
    if (std::ranges::find(searched, key) != searched.end()) continue;
    out += (out.empty() ? "" : " ") + flag_of(key) + " " + flags.keys.at(key);
  }
  return out;
}

void plan_command(const PlanFlags& flags, int& exit_code) {
  ScenarioPoints points = read(flags);
  const Asked asked = read_space(points);
  const PlanSpace& space = asked.space;
  Profiles profiles;
  const ProfileOf profile_of = [&](const std::string& name) -> const GpuProfile& {
    return profiles.get(name);
  };
  PlanOptions options;
  options.threads =
      flags.threads > 0 ? flags.threads : std::max(1U, std::thread::hardware_concurrency());
  options.exhaustive = flags.exhaustive;
  std::unique_ptr<Progress> progress;
  options.progress = [&](std::uint64_t done, std::uint64_t of) {
    if (!progress) progress = std::make_unique<Progress>("candidates", of);
    progress->show(done);
  };
  const PlanResult result = plan(space, profile_of, options);
  progress.reset();
  const ModelError error = read_model_error();
  PlanReport report{source_of(flags), space, result, {}, profile_of};
  PredictReport& best = report.best;
  best.title = points.title();
  best.axes = other_axes(points);
  best.axes.emplace_back("gpus");
  for (const GroupBest& group : result.groups) {
    const PlanCandidate& candidate = result.candidates[group.candidate];
    StudyPoint& p = best.points.emplace_back();
    p.scenario = scenario_of(space, candidate);
    const GpuProfile& gpu = profiles.get(p.scenario.cluster.gpu);
    p.prediction = predict(p.scenario, gpu);
    p.uncertainty = uncertainty_of(p.scenario, gpu, p.prediction, error);
    const Quantiles& step = p.uncertainty.step;
    p.money = money_of(p.scenario, gpu, {p.prediction.step.value, step.p5, step.p95});
    best.coordinates.push_back(asked.coordinates[candidate.base]);
    best.coordinates.back().push_back(std::to_string(candidate.gpus));
  }
  if (!flags.candidates.empty()) write_output(flags.candidates, candidates_csv(report));
  write_output(flags.output,
               flags.json ? plan_json(report) : plan_text(report, Words(flags.language)));
  if (!result.fastest) exit_code = exit_check_failed;
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand(
      "plan", "The best way to share a model out to machines, and what it costs");
  command->add_flag("--json", flags->json, "for machines");
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->add_option("--candidates",
                      flags->candidates,
                      help_text("write what became of every candidate to this CSV file"));
  command->add_option("--lang", flags->language, "language of the text: en or zh")
      ->check(CLI::IsMember(language_names()));
  command->add_flag("--exhaustive",
                    flags->exhaustive,
                    help_text("simulate everything that fits, whatever the bounds say"));
  command->add_option("--threads", flags->threads, "0: as many as the machine has")
      ->check(CLI::Range(0U, 1024U));
  add_scenario_flags(*command, *flags);
  command->footer(
      "Example:\n"
      "  stepsight plan --model llama2-70b --gpu h100-sxm --gpus 64,128,256 --gpus-per-node 8 \\\n"
      "    --link nvlink4-nvswitch+8x400G-ib --global-batch 512 --prices example-2026 \\\n"
      "    --tokens 1e12\n"
      "Exit code 1: no plan fits and keeps the limits.");
  command->callback([flags, command, &exit_code] {
    note_given(*flags, *command);
    plan_command(*flags, exit_code);
  });
}

}  // namespace stepsight
