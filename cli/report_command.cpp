#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/page_assets.h"
#include "cli/predicted_runs.h"
#include "cli/profiles.h"
#include "cli/report_answer.h"
#include "cli/report_what_if.h"
#include "cli/scenario_flags.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/files_read.h"
#include "model/io/model_error_file.h"
#include "model/io/trace_file.h"
#include "reports/compare_page.h"
#include "reports/html_page.h"
#include "reports/validation_page.h"

namespace stepsight {

namespace {

struct ReportFlags : ScenarioFlags {
  std::string output;
  std::string against;
  std::string runs;
  std::string format;
  std::string language = "en";
  bool json = false;
  bool plain = false;
};

// What --format says, else what the file's name says; Markdown on a terminal.
std::string format_of(const ReportFlags& flags) {
  if (flags.json) return "json";
  if (!flags.format.empty()) return flags.format;
  if (is_standard_output(flags.output)) return "md";
  const std::string ending = std::filesystem::path(flags.output).extension().string();
  for (const char* format : {"html", "md", "csv", "json"}) {
    if (ending == std::string(".") + format) return format;
  }
  if (ending == ".htm") return "html";
  throw UserError("-o " + flags.output +
                  ": which form? Name the file .html, .md, .csv or .json, or give --format");
}

std::string write(const Document& document,
                  const std::string& format,
                  const PageAssets& assets,
                  const Words& words) {
  if (format == "json") return document_json(document);
  if (format == "csv") return document_csv(document);
  if (format == "md") return document_markdown(document);
  return html_page(document, assets, words);
}

// A page that is forwarded does not tell where on this machine a file lies.
std::string name_of_file(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// The point of a scenario that its report explains.
ComparedScenario explained(const ScenarioFile& file, const std::string& name, Profiles& profiles) {
  const Scenario& focus = file.points[focus_of(file.points)];
  const ProfileOf profile_of = [&](const std::string& gpu) -> const GpuProfile& {
    return profiles.get(gpu);
  };
  std::vector<StudyPoint> points = study({&focus, 1}, profile_of, read_model_error());
  return {file.title.empty() ? name_of_file(name) : file.title,
          std::move(points.front()),
          &profiles.get(focus.cluster.gpu)};
}

void compare(const ReportFlags& flags,
             Profiles& profiles,
             const Words& words,
             const WebFiles& web) {
  ScenarioFlags other = flags;
  other.file = flags.against;
  const ComparedScenario first = explained(read_question(flags, "report"), flags.file, profiles);
  const ComparedScenario second =
      explained(read_question(other, "report"), flags.against, profiles);
  write_output(
      flags.output,
      write(compare_page(first, second, words), format_of(flags), {web.chart_library, {}}, words));
}

void validation(const ReportFlags& flags, const Words& words) {
  if (!flags.file.empty() || !flags.given.empty() || !flags.against.empty()) {
    throw UserError("--runs: a report about measured runs takes no scenario");
  }
  const PredictedRuns runs = predict_runs(read_runs(flags.runs), "", read_model_error());
  const std::string format = format_of(flags);
  const WebFiles web = format == "html" && !flags.plain ? read_web_files() : WebFiles{};
  write_output(flags.output,
               write(validation_page(runs.validation, name_of_file(flags.runs), words),
                     format,
                     {web.chart_library, {}},
                     words));
}

void report_command(ReportFlags flags) {
  const Words words(flags.language);
  const std::string format = format_of(flags);
  if (!flags.runs.empty()) {
    validation(flags, words);
    return;
  }
  if (flags.has("name") && names_a_trace(flags.keys["name"])) {
    throw UserError("--model " + flags.keys["name"] +
                    ": reports are about models; `predict` answers for "
                    "traces");
  }
  const WebFiles web = format == "html" && !flags.plain ? read_web_files() : WebFiles{};
  Profiles profiles;
  if (!flags.against.empty()) {
    std::vector<std::string> notes;
    choose_link(flags, profiles, notes);
    compare(flags, profiles, words, web);
    return;
  }
  const FilesRead files;
  const ScenarioReport report = answer_report(flags, profiles);
  const StudyPoint& focus = report.focus;
  const GpuProfile& gpu = profiles.get(focus.scenario.cluster.gpu);
  PageAssets assets{web.chart_library, {}};
  if (web.can_compute())
    assets.what_if = what_if_of(flags, focus.scenario, profiles, files, web, words);
  write_output(flags.output, write(scenario_page(report, gpu, words), format, assets, words));
}

}  // namespace

void add_report_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command =
      app.add_subcommand("report", "A page to forward: the answer, why, and what it rests on");
  command->add_option(
      "-o,--output", flags->output, "write to this file: .html, .md, .csv or .json");
  CLI::Option* json = command->add_flag("--json", flags->json, "for machines");
  command->add_option("--format", flags->format, "html, md, csv or json")
      ->check(CLI::IsMember({"html", "md", "csv", "json"}))
      ->excludes(json);
  command->add_option("--against", flags->against, help_text("compare with this scenario file"))
      ->type_name("FILE");
  command
      ->add_option(
          "--runs",
          flags->runs,
          help_text("in place of a scenario: predicted against measured, for this table of runs"))
      ->type_name("FILE");
  command->add_option("--lang", flags->language, "en or zh")
      ->check(CLI::IsMember(language_names()));
  command->add_flag(
      "--plain",
      flags->plain,
      help_text("a page without scripts that draw or compute: tables and static pictures"));
  add_scenario_flags(*command, *flags);
  command->footer(
      "The page is one file that opens offline.\n"
      "Example:\n"
      "  stepsight report --model llama2-7b --gpu h200-sxm --gpus 8 --batch 4 --seq 2048 \\\n"
      "    -o report.html");
  command->callback([flags, command] {
    note_given(*flags, *command);
    report_command(*flags);
  });
}

}  // namespace stepsight
