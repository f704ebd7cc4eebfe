#include "calibrate/measure/environment.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>

#include <sys/utsname.h>
#include <unistd.h>

namespace stepsight::calibrate {
namespace {

// "model name : AMD EPYC ..." -> "AMD EPYC ...".
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

Record machine_record() {
  utsname system{};
  ::uname(&system);
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  return {field("cpu", processor_name()),
          field("cpu_threads", std::thread::hardware_concurrency()),
          field("memory_GB", pages * page_bytes / 1e9),
          field("system", std::string(system.sysname) + " " + system.release)};
}

Record environment_record() {
  constexpr std::array<std::string_view, 4> prefixes{"NCCL_", "CUDA_", "OMP_", "TORCH_"};
  Record record;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool matters = std::any_of(prefixes.begin(), prefixes.end(), [text](std::string_view p) {
      return text.starts_with(p);
    });
    const std::size_t equals = text.find('=');
    if (!matters || equals == std::string_view::npos) continue;
    record.push_back(field(text.substr(0, equals), text.substr(equals + 1)));
  }
  std::sort(
      record.begin(), record.end(), [](const Field& a, const Field& b) { return a.key < b.key; });
  return record;
}

}  // namespace stepsight::calibrate
