#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/fit_model_error.h"
#include "cli/fit_runs.h"
#include "cli/output.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/fit/fit_collectives.h"
#include "model/fit/fit_profile.h"
#include "model/fit/full_clock.h"
#include "model/io/link_file.h"
#include "model/io/measurement_files.h"
#include "model/io/profile_file.h"
#include "model/io/read_file.h"
#include "reports/fit_report.h"

namespace stepsight {

namespace {

struct FitFlags {
  std::vector<std::string> files;
  std::string gpu;
  std::string link;
  std::string output;
  std::string reference;
  std::string timed_on;
  bool link_only = false;
  bool model_error = false;
  bool runs = false;
  bool json = false;
  LinkDescription description;
};

// NAME.toml and, beside it, NAME.points.csv.
void write_both(const std::string& output, const std::string& text, const std::string& points) {
  if (output.empty()) return;
  write_file_atomically(profile_stem(output) + ".points.csv", points);
  write_file_atomically(output, text);
}

void fit_link_file(const FitFlags& flags, const Measurements& measurements) {
  if (flags.link.empty()) throw UserError("--link-only needs the link's name: --link");
  LinkDescription description = flags.description;
  description.name = flags.link;
  if (description.title.empty()) description.title = flags.link;
  if (description.link_class.empty()) description.link_class = flags.link;
  const FittedLink fitted = fit_link(measurements, description);
  write_both(flags.output,
             measured_link_text(fitted.link, fitted.records),
             measured_link_points_text(fitted.points));
  std::fputs(fit_link_report_text(fitted.link, measurements).c_str(), stdout);
}

void fit(const FitFlags& flags) {
  if (flags.model_error) return fit_model_error(flags.files, flags.output);
  static_cast<void>(profile_stem(flags.output));  // a name that cannot be, before anything is read
  if (flags.runs) return fit_runs({flags.files, flags.gpu, flags.output, flags.json});
  if (flags.json) throw UserError("--json goes with --runs");
  Measurements measurements;
  for (const std::string& file : flags.files) read_measurements(file, measurements);
  if (!flags.timed_on.empty())
    take_host_out(measurements, read_gpu(flags.timed_on).hbm_TBps * 1000);
  if (flags.link_only) return fit_link_file(flags, measurements);
  if (flags.gpu.empty()) throw UserError("fit needs the card (--gpu), or --link-only");
  FitOptions options{flags.link, std::nullopt};
  if (!flags.reference.empty()) options.reference = read_profile(flags.reference);
  keep_full_clock(measurements);
  const FittedProfile fitted = fit_profile(read_gpu(flags.gpu), measurements, options);
  write_both(flags.output, profile_text(fitted.profile), points_text(fitted.points));
  std::fputs(fit_report_text(fitted.profile, measurements).c_str(), stdout);
}

}  // namespace

void add_fit_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<FitFlags>();
  CLI::App* command = app.add_subcommand("fit", "Measurements to a profile, with its errors");
  command
      ->add_option("files",
                   flags->files,
                   "measurement files: .json, .jsonl, .csv, logs of nccl-tests, or .gz of these")
      ->required();
  command->add_option("--gpu", flags->gpu, "card whose vendor's figures to start from (show gpus)");
  command->add_option(
      "--link", flags->link, "name of the link that collective sweeps were made on");
  command->add_flag("--link-only",
                    flags->link_only,
                    "collectives alone: write a link file, not a card's profile");
  command->add_option("--link-class",
                      flags->description.link_class,
                      "class that stands in for other group sizes (default: the link's name)");
  command->add_option("--gpus-per-node", flags->description.gpus_per_node, "GPUs of each machine")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--title", flags->description.title, "what the link file says it is");
  command->add_option("--class-from",
                      flags->reference,
                      "measured profile whose utilisation stands in for what these files lack");
  CLI::Option* timed = command->add_option(
      "--timed-from-host",
      flags->timed_on,
      help_text("the collectives are PyTorch's, timed by the host, on this card: take the "
                "host's part and the copies of lists out"));
  command->add_flag("--model-error",
                    flags->model_error,
                    help_text("the files are tables of measured runs: learn from them how far "
                              "predictions are off where every parameter is right"));
  command->get_option("--model-error")->excludes(timed);
  CLI::Option* runs =
      command->add_flag("--runs",
                        flags->runs,
                        help_text("the files are tables of runs of one machine with --gpu: refine "
                                  "its host, link and GPU by "
                                  "them, each run predicted with and without itself"));
  command->get_option("--model-error")->excludes(runs);
  runs->excludes(timed);
  command->add_flag("--json", flags->json, "with --runs: for machines");
  command->add_option(
      "-o,--output", flags->output, "profile to write (NAME.toml and NAME.points.csv)");
  command->footer(
      "Example:\n"
      "  stepsight fit h200-framework.json sweep_8gpu.csv --gpu h200-sxm \\\n"
      "    --link nvlink4-nvswitch -o my-h200.toml\n"
      "  stepsight fit all_reduce_2.log all_reduce_4.log --link my-box --link-only \\\n"
      "    --link-class pcie4-x16-nop2p -o my-box.toml\n"
      "  stepsight fit --runs my_runs.csv --gpu h200-sxm -o my-machine.toml\n"
      "  stepsight fit --model-error runs.csv -o scenarios/errors/model_error.toml");
  command->callback([flags] { fit(*flags); });
}

}  // namespace stepsight
