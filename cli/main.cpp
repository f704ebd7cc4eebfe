// The program's one way in and out: builds the command line of all subcommands, runs the chosen one
// and turns every exception into a message on stderr and an exit code (cli/command.h).
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/parse_error.h"
#include "model/errors.h"

namespace stepsight {
namespace {

constexpr const char* description =
    "Predicts how long a training step takes on N GPUs, how much faster N cards are than one,\n"
    "and why they are not N times faster.";
constexpr const char* example =
    "Example:\n"
    "  stepsight predict --model llama2-7b --gpu h200-sxm --gpus 1,2,4,8 --batch 4 --seq 2048";

int fail(const std::string& message, ExitCode code) {
  std::cout.flush();
  std::cerr << "stepsight: " << message << '\n';
  return code;
}

int parse_and_run(CLI::App& app, int argc, char** argv, const int& exit_code) {
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return fail(explain(app, error), exit_bad_input);
  }
}

int run(int argc, char** argv) {
  int exit_code = exit_done;
  CLI::App app(description, "stepsight");
  app.set_version_flag("--version", "stepsight " STEPSIGHT_VERSION);
  app.footer(example);
  app.require_subcommand(1);
  add_commands(app, exit_code);
  if (argc <= 1) {
    std::cerr << app.help();
    return exit_bad_input;
  }
  return parse_and_run(app, argc, argv, exit_code);
}

// A full disk or a closed pipe shows only when the buffers are written out.
bool output_arrived() {
  return std::cout.flush() && std::fflush(stdout) == 0;
}

int guarded_run(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    if (code == exit_done && !output_arrived()) {
      return fail("the output could not be written", exit_bad_input);
    }
    return code;
  } catch (const UserError& error) {
    return fail(error.what(), exit_bad_input);
  } catch (const std::exception& error) {
    return fail(std::string(error.what()) + "\n  this is a bug in stepsight", exit_our_bug);
  }
}

}  // namespace
}  // namespace stepsight

int main(int argc, char** argv) {
  return stepsight::guarded_run(argc, argv);
}
