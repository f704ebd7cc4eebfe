#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "model/fit/fit_profile.h"
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
};

void fit(const FitFlags& flags) {
  Measurements measurements;
  for (const std::string& file : flags.files) read_measurements(file, measurements);
  FitOptions options{flags.link, std::nullopt};
  if (!flags.reference.empty()) options.reference = read_profile(flags.reference);
  const FittedProfile fitted = fit_profile(read_gpu(flags.gpu), measurements, options);
  if (!flags.output.empty()) {
    std::string points = flags.output;
    if (points.ends_with(".toml")) points.resize(points.size() - 5);
    write_file_atomically(points + ".points.csv", points_text(fitted.points));
    write_file_atomically(flags.output, profile_text(fitted.profile));
  }
  std::fputs(fit_report_text(fitted.profile, measurements).c_str(), stdout);
}

}  // namespace

void add_fit_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<FitFlags>();
  CLI::App* command = app.add_subcommand("fit", "Measurements to a profile, with its errors");
  command->add_option("files", flags->files, "measurement files: .json, .jsonl, .csv, or .gz of these")
      ->required();
  command->add_option("--gpu", flags->gpu, "card whose vendor's figures to start from (show gpus)")
      ->required();
  command->add_option("--link", flags->link, "name of the link that collective sweeps were made on");
  command->add_option("--class-from", flags->reference,
                      "measured profile whose utilisation stands in for what these files lack");
  command->add_option("-o,--output", flags->output, "profile to write (NAME.toml and NAME.points.csv)");
  command->footer(
      "Example:\n"
      "  stepsight fit h200-framework.json sweep_8gpu.csv --gpu h200-sxm \\\n"
      "    --link nvlink4-nvswitch -o my-h200.toml");
  command->callback([flags] { fit(*flags); });
}

}  // namespace stepsight
