#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/run_program.h"
#include "model/errors.h"
#include "model/fit/fit_profile.h"
#include "model/fit/full_clock.h"
#include "model/io/builtin.h"
#include "model/io/machine_facts.h"
#include "model/io/measurement_files.h"
#include "model/io/profile_file.h"
#include "model/io/read_file.h"
#include "reports/calibration_report.h"

namespace stepsight {

namespace {

namespace fs = std::filesystem;

struct CalibrateFlags {
  std::string bin_dir;
  std::string gpu;
  std::string link;
  std::string output;
  bool full = false;
  bool quick = false;
};

// What is run, and for how many seconds at most: together within a minute, or within five;
// collectives and overlap end early on one GPU. 0: not run.
struct Stage {
  const char* program;
  const char* file;
  double quick_s;
  double full_s;
};

constexpr std::array<Stage, 8> stages{{
    {"calibrate_gemm", "gemm.json", 15, 110},
    {"calibrate_hbm", "hbm.json", 3, 10},
    {"calibrate_host", "host.json", 4, 10},
    {"calibrate_overlap", "overlap.json", 4, 75},
    {"calibrate_power", "power.json", 7, 20},
    {"calibrate_collectives", "collectives.json", 5, 60},
    {"framework_operators.py", "framework.json", 16, 78},
    {"sharded_host.py", "sharded-host.json", 0, 12},
}};

// Beside this program; else where the launcher builds the programs that need CUDA.
fs::path find_programs(const std::string& wanted) {
  if (!wanted.empty()) {
    if (fs::is_directory(wanted)) return wanted;
    throw UserError("--bin-dir: '" + wanted + "' is no folder");
  }
  const fs::path self = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& folder : {self, self / "../../calibrate/bin"}) {
    if (fs::exists(folder / stages.front().program)) return fs::weakly_canonical(folder);
  }
  throw UserError(
      "the calibration programs are not built. On a machine with the CUDA toolkit:\n"
      "  cmake -S calibrate -B build/calibrate -DCMAKE_BUILD_TYPE=Release\n"
      "  cmake --build build/calibrate -j\n"
      "  stepsight calibrate --bin-dir build/calibrate/bin");
}

void progress(const std::string& text) {
  if (::isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

CalibrationStep run_stage(const Stage& stage,
                          const fs::path& programs,
                          const fs::path& folder,
                          bool full) {
  CalibrationStep step;
  step.name = stage.program;
  const fs::path program = programs / stage.program;
  if (!fs::exists(program)) {
    step.problem = "not built";
    return step;
  }
  std::vector<std::string> argv;
  if (program.extension() == ".py") argv.emplace_back("python3");
  argv.push_back(program.string());
  argv.insert(argv.end(),
              {"-o",
               (folder / stage.file).string(),
               "--budget",
               std::to_string(full ? stage.full_s : stage.quick_s)});
  if (!full) argv.emplace_back("--quick");
  if (full && program.extension() != ".py") argv.emplace_back("--full");
  progress(step.name + " ...");
  const ProgramRun run = run_program(argv);
  progress("");
  step.seconds = run.seconds;
  if (run.exit_code != 0) {
    const std::size_t line = run.said.rfind('\n');
    step.problem = run.said.empty() ? "exit code " + std::to_string(run.exit_code)
                                    : run.said.substr(line == std::string::npos ? 0 : line + 1);
    if (step.problem.starts_with(step.name + ": ")) step.problem.erase(0, step.name.size() + 2);
  }
  return step;
}

// The vendor's figures of the card that was measured: named, or found by the driver's name, or what
// the measurement says of itself.
GpuProfile figures_of(const MachineFacts& machine, const std::string& wanted) {
  if (!wanted.empty()) return read_gpu(wanted);
  for (const std::string_view name : builtin_names("gpus")) {
    const GpuProfile gpu = read_gpu(std::string(name));
    if (gpu.driver_name == machine.gpu) return gpu;
  }
  GpuProfile gpu;
  gpu.title = machine.gpu;
  for (const char c : machine.gpu) {
    gpu.name += std::isalnum(static_cast<unsigned char>(c)) != 0
                    ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                    : '-';
  }
  if (machine.multiprocessors < 1 || machine.memory_bytes <= 0) {
    throw UserError("no built-in card is called '" + machine.gpu + "': name one with --gpu");
  }
  gpu.multiprocessors = static_cast<int>(machine.multiprocessors);
  gpu.memory_bytes = machine.memory_bytes;
  gpu.l2_bytes = machine.l2_bytes;
  return gpu;
}

void calibrate(const CalibrateFlags& flags) {
  static_cast<void>(
      profile_stem(flags.output));  // a name that cannot be, before a minute of measuring
  const fs::path programs = find_programs(flags.bin_dir);
  const fs::path folder = flags.output.empty() ? fs::path("stepsight-measurements")
                                               : fs::path(flags.output + ".measurements");
  fs::create_directories(folder);
  std::vector<CalibrationStep> steps;
  Measurements measurements;
  std::vector<MachineFacts> machines;
  for (const Stage& stage : stages) {
    if ((flags.full ? stage.full_s : stage.quick_s) <= 0) continue;
    steps.push_back(run_stage(stage, programs, folder, flags.full));
    const std::string file = (folder / stage.file).string();
    if (!steps.back().problem.empty() || !fs::exists(file)) continue;
    read_measurements(file, measurements);
    machines.push_back(read_machine(file));
  }
  if (machines.empty()) {
    throw UserError("nothing was measured: " + std::string(stages.front().program) + ": " +
                    steps.front().problem);
  }
  keep_full_clock(measurements);
  const GpuProfile figures = figures_of(machines.front(), flags.gpu);
  const std::string link =
      flags.link.empty() ? link_of_machine(machines.front(), figures.name) : flags.link;
  // What was not measured takes its utilisation from the card that was measured best.
  const FitOptions options{link, read_profile("h200-sxm")};
  const FittedProfile fitted = fit_profile(figures, measurements, options);
  const std::string stem = profile_stem(flags.output.empty() ? figures.name : flags.output);
  write_file_atomically(stem + ".points.csv", points_text(fitted.points));
  write_file_atomically(stem + ".toml", profile_text(fitted.profile));
  std::fputs(calibration_text(fitted.profile, measurements, machines, steps).c_str(), stdout);
  std::printf("\nWrote %s.toml and its points; raw measurements are in %s.\n",
              stem.c_str(),
              folder.string().c_str());
}

}  // namespace

void add_calibrate_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<CalibrateFlags>();
  CLI::App* command =
      app.add_subcommand("calibrate", "Measure this machine's GPU and fit a profile");
  CLI::Option* full = command->add_flag(
      "--full", flags->full, "all shapes: within five minutes, six with several GPUs");
  command->add_flag("--quick", flags->quick, "few shapes: within a minute (the default)")
      ->excludes(full);
  command->add_option("--bin-dir", flags->bin_dir, "folder of the calibrate_* programs");
  command->add_option("--gpu", flags->gpu, "the card, where the driver's name does not tell");
  command->add_option("--link", flags->link, "name for what connects the GPUs of this machine");
  command->add_option("-o,--output", flags->output, "profile to write (NAME.toml)");
  command->footer("Example:\n  stepsight calibrate --quick -o my-card.toml");
  command->callback([flags] { calibrate(*flags); });
}

}  // namespace stepsight
