// libFuzzer's entry. `--reader=NAME` says which reader; `--list` prints their names; `--seeds=DIR`
// writes each reader's seeds into DIR/NAME, which is where a run's corpus grows.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "model/errors.h"
#include "tests/fuzz/fuzz_readers.h"

namespace {

const stepsight::FuzzReader* chosen = nullptr;

std::vector<stepsight::FuzzReader> all_readers() {
  std::vector<stepsight::FuzzReader> out;
  for (const auto readers : {stepsight::log_fuzz_readers(), stepsight::data_fuzz_readers()}) {
    out.insert(out.end(), readers.begin(), readers.end());
  }
  return out;
}

void write_seeds(const std::filesystem::path& into) {
  for (const stepsight::FuzzReader& reader : all_readers()) {
    const std::filesystem::path folder = into / reader.name;
    std::filesystem::create_directories(folder);
    int n = 0;
    for (const std::string& seed : reader.seeds()) {
      std::ofstream(folder / ("seed" + std::to_string(n++))) << seed;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static const std::vector<stepsight::FuzzReader> readers = all_readers();
  for (int i = 1; i < *argc; ++i) {
    const std::string argument = (*argv)[i];
    if (argument == "--list") {
      for (const stepsight::FuzzReader& r : readers) std::puts(std::string(r.name).c_str());
      std::exit(0);
    }
    if (argument.starts_with("--seeds=")) {
      write_seeds(argument.substr(8));
      std::exit(0);
    }
    if (!argument.starts_with("--reader=")) continue;
    for (const stepsight::FuzzReader& r : readers) {
      if (r.name == argument.substr(9)) chosen = &r;
    }
  }
  if (chosen != nullptr) return 0;
  std::fputs("usage: stepsight_fuzz --reader=NAME [libFuzzer's arguments]; --list; --seeds=DIR\n",
             stderr);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    chosen->read({reinterpret_cast<const char*>(data), size});
  } catch (const stepsight::UserError&) {
    // What a person can mend. Anything else is a finding.
  }
  return 0;
}
