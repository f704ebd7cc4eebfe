#include "calibrate/measure/run_main.h"

#include <csignal>
#include <exception>
#include <iostream>
#include <span>

#include "model/errors.h"

namespace stepsight::calibrate {
namespace {

volatile std::sig_atomic_t signal_came = 0;

extern "C" void remember_signal(int number) {
  signal_came = 1;
  std::signal(number, SIG_DFL);  // a second one ends the program at once
}

}  // namespace

bool interrupted() {
  return signal_came != 0;
}

int run_main(const Tool& tool,
             int argc,
             char** argv,
             void (*list)(const Options&),
             void (*measure)(const Tool&, const Options&)) {
  std::signal(SIGINT, remember_signal);
  std::signal(SIGTERM, remember_signal);
  try {
    const std::span<const char* const> all(argv, static_cast<std::size_t>(argc));
    const Options options = parse_options(tool, all.subspan(1));
    if (options.help) {
      std::cout << help_text(tool);
    } else if (options.list) {
      list(options);
    } else {
      measure(tool, options);
    }
    return interrupted() ? 130 : 0;
  } catch (const UserError& error) {
    std::cerr << tool.name << ": " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << tool.name << ": this is a bug in stepsight: " << error.what() << '\n';
    return 70;
  }
}

}  // namespace stepsight::calibrate
