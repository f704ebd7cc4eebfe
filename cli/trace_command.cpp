#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/profiles.h"
#include "cli/scenario_flags.h"
#include "cli/terminal.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/trace_file.h"
#include "reports/question.h"
#include "reports/trace_report.h"

namespace stepsight {

namespace {

struct TraceFlags : ScenarioFlags {
  std::string output;
  bool json = false;
  std::size_t most_slices = usual_slices;
};

// The point that `predict` explains: the last of the most GPUs.
const Scenario& point_of(const ScenarioFile& file) {
  const Scenario* best = &file.points.front();
  for (const Scenario& s : file.points) {
    if (s.cluster.gpus >= best->cluster.gpus) best = &s;
  }
  return *best;
}

void trace_command(TraceFlags flags) {
  if (flags.has("name") && names_a_trace(flags.keys["name"])) {
    throw UserError("--model " + flags.keys["name"] +
                    ": is a timeline already; `trace` draws the steps of models");
  }
  Profiles profiles;
  std::vector<std::string> notes;
  choose_link(flags, profiles, notes);
  const ScenarioFile file = read_question(flags, "trace");
  const Scenario& scenario = point_of(file);
  const GpuProfile& gpu = profiles.get(scenario.cluster.gpu);
  TraceReport report{file.title,
                     question_line(scenario, gpu, Words()),
                     trace_step(scenario, gpu, flags.most_slices)};
  if (flags.json || flags.output == "-") {
    write_output(flags.output, perfetto_json(report));
    return;
  }
  if (!flags.output.empty()) write_output(flags.output, perfetto_json(report));
  std::string text = trace_text(report);
  for (const std::string& note : notes) text += wrap(note) + "\n";
  if (!flags.output.empty()) {
    text += wrap("Open " + flags.output + " in ui.perfetto.dev or chrome://tracing.") + "\n";
  }
  write_text("", text);
}

}  // namespace

void add_trace_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<TraceFlags>();
  CLI::App* command = app.add_subcommand("trace", "The timeline of a step, for Perfetto");
  command->add_option(
      "-o,--output", flags->output, help_text("write the trace (Chrome's JSON) to this file"));
  command->add_flag("--json", flags->json, "the trace itself in place of the overview");
  command
      ->add_option("--max-slices",
                   flags->most_slices,
                   help_text("draw neighbouring kernels together where there are more (default "
                             "100000)"))
      ->check(CLI::Range(std::size_t{100}, std::size_t{10'000'000}));
  add_scenario_flags(*command, *flags);
  command->footer(
      "Of a sweep, the last point of the most GPUs is drawn. Arrows lead from the kernel that\n"
      "completes a gradient to its copy into a bucket and on to the bucket's message, and from a\n"
      "message to what waits for it. Ranks that do the same are there once.\n"
      "Example:\n"
      "  stepsight trace --model gpt2-774m --gpu h200-sxm --gpus 8 --batch 8 --seq 1024 \\\n"
      "    -o step.json");
  command->callback([flags, command] {
    note_given(*flags, *command);
    trace_command(*flags);
  });
}

}  // namespace stepsight
