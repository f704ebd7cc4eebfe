#include <algorithm>
#include <array>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/diagnose_question.h"
#include "cli/diagnose_runs.h"
#include "cli/diagnose_table.h"
#include "cli/output.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/model_error_file.h"
#include "reports/diagnose_report.h"

namespace stepsight {

namespace {

bool is_well(const DiagnosedRun& run) {
  return run.diagnosis.verdict == Verdict::healthy;
}

void diagnose_command(const DiagnoseFlags& flags, int& exit_code) {
  const Words words(flags.language);
  bool well = false;
  if (!flags.runs.empty() || !flags.table.empty()) {
    if (!flags.given.empty() || flags.tn || !flags.logn.empty()) {
      throw UserError("diagnose takes a table of runs or flags about one run, not both");
    }
    const DiagnosedTable table = flags.table.empty()
                                     ? diagnose_runs(flags.runs, flags.only, read_model_error())
                                     : diagnose_table(flags.table, flags.same_work);
    well = !table.runs.empty() && std::ranges::all_of(table.runs, is_well);
    write_output(flags.output, flags.json ? diagnoses_json(table) : diagnoses_text(table, words));
  } else {
    Profiles profiles;
    DiagnosedRun run = diagnose_question(flags, profiles);
    const DiagnoseQuestion& q = run.question;
    const GpuProfile* gpu = q.scenario ? &profiles.get(q.scenario->cluster.gpu) : nullptr;
    run.diagnosis = diagnose(q, gpu, read_model_error());
    well = is_well(run);
    write_output(flags.output, flags.json ? diagnosis_json(run) : diagnosis_text(run, words));
  }
  if (flags.check && !well) exit_code = exit_check_failed;
}

void add_times(CLI::App& command, DiagnoseFlags& flags) {
  const auto seconds = [&](const char* name, std::optional<double>& into, const char* meaning) {
    command.add_option(name, into, help_text(meaning))
        ->check(CLI::Range(1e-9, 1e9))
        ->group("What was measured");
  };
  seconds("--t1", flags.t1, "seconds of a step on one GPU");
  seconds("--tn", flags.tn, "seconds of a step on N GPUs");
  seconds("--rate1", flags.rate1, "instead: samples a second on one GPU");
  seconds("--raten", flags.raten, "... and over all N GPUs together");
  const auto file = [&](const char* name, std::string& into, const char* meaning) {
    command.add_option(name, into, help_text(meaning))->group("What was measured");
  };
  file("--log1", flags.log1, "instead: log of the run on one GPU (any trainer)");
  file("--logn", flags.logn, "... and on N GPUs");
  command
      .add_flag("--same-work",
                flags.same_work,
                help_text("N GPUs share out one GPU's batch (strong scaling)"))
      ->group("What was measured");
  seconds("--data-time", flags.datan, "seconds of a step on N GPUs that wait for data");
  seconds("--data-time1", flags.data1, "... on one GPU");
  seconds("--comm-time",
          flags.communication,
          "seconds of a step on N GPUs that wait for communication");
  seconds("--shared-time1",
          flags.divided,
          "seconds of a step on one GPU that N GPUs share out (update of a sharded optimizer)");
  file("--utilisation",
       flags.utilisation,
       "samples of `nvidia-smi dmon` or `--query-gpu` on N GPUs");
  file("--nccl-log", flags.nccl_log, "what NCCL_DEBUG=INFO printed on N GPUs");
  command
      .add_flag("--data-parallel", flags.data_parallel, help_text("one process drives all GPUs"))
      ->group("What was measured");
  command
      .add_option("--params",
                  flags.parameters,
                  help_text("parameters that train, where no --model is given"))
      ->check(CLI::Range(1.0, 1e13))
      ->group("What was measured");
}

}  // namespace

void add_diagnose_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<DiagnoseFlags>();
  CLI::App* command =
      app.add_subcommand("diagnose", "Is a measured run as fast as it should be, and if not, why?");
  command->add_option(
      "runs", flags->runs, "CSV of measured runs: a verdict for each on several GPUs");
  command->add_option("--only", flags->only, "rows whose id begins with this");
  command->add_option(
      "--table",
      flags->table,
      help_text("instead: table (CSV, Markdown) of one job on several numbers of GPUs"));
  command->add_flag("--json", flags->json, "for machines");
  command
      ->add_option(
          "--lang", flags->language, help_text("language of headings and verdicts: en or zh"))
      ->check(CLI::IsMember(language_names()));
  command->add_flag("--check", flags->check, "exit 1 unless healthy");
  command->add_option("-o,--output", flags->output, "write to this file instead");
  add_times(*command, *flags);
  // What disturbed the run is what is asked; what it cost is not.
  constexpr std::array<std::string_view, 4> sections{"model", "training", "cluster", "parallel"};
  add_key_flags(*command, *flags, sections, "What ran (as for predict, one value each)");
  command->footer(
      "Example: 0.75 s a step on one card, 1.33 s on two, each with 8 sequences\n"
      "  stepsight diagnose --t1 0.75 --tn 1.33 --gpus 2 --model gpt2-355m --batch 8 \\\n"
      "    --gpu rtx-3090 --link pcie4-x16-nop2p --precision fp16\n"
      "  stepsight diagnose --table epochs.csv --same-work     (columns GPUs, seconds)");
  command->callback([flags, command, &exit_code] {
    note_given(*flags, *command);
    diagnose_command(*flags, exit_code);
  });
}

}  // namespace stepsight
