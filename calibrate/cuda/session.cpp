#include "calibrate/cuda/session.h"

#include <cuda_runtime_api.h>

#include "calibrate/cuda/check.h"
#include "calibrate/measure/environment.h"
#include "calibrate/measure/run_main.h"

namespace stepsight::calibrate {
namespace {

Record joined(Record first, const Record& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

Session::Session(
    const Tool& tool, const Options& options, int gpu, std::string_view method, bool watch)
    : device_(use_gpu(gpu)),
      log_(tool, options, device_.name),
      progress_(tool.name),
      budget_s_(options.budget_s),
      begin_(std::chrono::steady_clock::now()) {
  int runtime = 0;
  int driver = 0;
  int gpus = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  log_.set_top(field("driver", nvml_.driver_version()));
  log_.set_top(field("method", method));
  const Record gpu_part =
      joined(gpu_record(device_, static_cast<std::size_t>(gpus)), nvml_.link(device_.pci_bus_id));
  log_.set_section("machine", joined(gpu_part, machine_record()));
  add_library("cuda_runtime", cuda_version_text(runtime));
  add_library("cuda_driver", cuda_version_text(driver));
  log_.set_section("environment", environment_record());
  log_.set_section("clocks_before", nvml_.clocks(device_.pci_bus_id));
  if (watch) watch_ = std::make_unique<ClockWatch>(nvml_, device_.pci_bus_id);
}

void Session::add_library(std::string_view name, std::string_view version) {
  libraries_.push_back(field(name, version));
  log_.set_section("libraries", libraries_);
}

bool Session::go_on() const {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
  return !interrupted() && spent.count() < budget_s_;
}

void Session::finish(bool all) {
  log_.set_section("clocks_after", nvml_.clocks(device_.pci_bus_id));
  if (watch_) log_.set_section("clocks_during", watch_->seen());
  const std::string_view cut_short = interrupted() ? "interrupted" : "budget";
  log_.finish(std::string(all ? "complete" : cut_short));
}

}  // namespace stepsight::calibrate
