#include "reports/calibration_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/fit_report.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

// GB/s of one direction of a PCIe link, before packet overhead: 2.5, 5, 8, 16, 32, 64 GT/s a lane.
double pcie_GBps(std::int64_t generation, std::int64_t width) {
  constexpr double per_lane[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.56};
  if (generation < 1 || generation > 6) return 0;
  return per_lane[generation] * static_cast<double>(width);
}

bool measured(const GpuProfile& profile, const std::string& name) {
  return std::ranges::any_of(
      profile.records, [&](const ParameterRecord& r) { return r.name == name && r.points > 0; });
}

}  // namespace

std::vector<std::string> calibration_warnings(const GpuProfile& profile,
                                              std::span<const MachineFacts> machines) {
  std::vector<std::string> out;
  const auto warn = [&](std::string text) {
    if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
  };
  for (const MachineFacts& m : machines) {
    if (m.throttle.find("thermal") != std::string::npos) {
      warn("the card was too hot and lowered its clock (" + m.throttle + "): mend its cooling");
    }
    if (m.pcie_width > 0 && m.pcie_width < m.pcie_max_width) {
      warn(fmt::format("the card has {} of its {} PCIe lanes: another slot or riser gives more",
                       m.pcie_width,
                       m.pcie_max_width));
    }
    if (m.status == "budget") warn(m.tool + " ran out of time before its design was through");
  }
  const auto bf16 = static_cast<std::size_t>(Dtype::bf16);
  if (profile.vendor_TFLOPS[bf16] > 0 && measured(profile, "gemm.bf16.peak_TFLOPS") &&
      profile.gemm[bf16].peak_TFLOPS < 0.5 * profile.vendor_TFLOPS[bf16]) {
    warn("large bf16 products reach less than half of the vendor's figure");
  }
  if (profile.hbm_TBps > 0 && measured(profile, "pass.copy.bandwidth_TBps") &&
      copy_TBps(profile) < 0.7 * profile.hbm_TBps) {
    warn("memory copies reach less than 70 % of the vendor's bandwidth");
  }
  for (const MachineFacts& m : machines) {
    const double wire = pcie_GBps(m.pcie_generation, m.pcie_width);
    if (wire > 0 && measured(profile, "copy.host_to_device.bandwidth_GBps") &&
        profile.host_to_device.bandwidth_GBps < 0.7 * wire) {
      warn(fmt::format("copies to the card run at {:.0f} GB/s on a link of {:.0f} GB/s",
                       profile.host_to_device.bandwidth_GBps,
                       wire));
    }
  }
  return out;
}

std::string calibration_text(const GpuProfile& profile,
                             const Measurements& measurements,
                             std::span<const MachineFacts> machines,
                             std::span<const CalibrationStep> steps) {
  std::string out = fit_report_text(profile, measurements);
  if (measured(profile, "copy.host_to_device.bandwidth_GBps")) {
    out += fmt::format("\nPinned copies: {:.1f} GB/s to the card, {:.1f} GB/s from it.\n",
                       profile.host_to_device.bandwidth_GBps,
                       profile.device_to_host.bandwidth_GBps);
  }
  out += "\nRan:";
  for (const CalibrationStep& s : steps) {
    out += s.problem.empty() ? fmt::format("\n  {:<24} {:5.1f} s", s.name, s.seconds)
                             : fmt::format("\n  {:<24} not done: {}", s.name, s.problem);
  }
  const std::vector<std::string> warnings = calibration_warnings(profile, machines);
  out += warnings.empty() ? "\n\nNothing looks wrong.\n" : "\n\nLooks wrong:\n";
  for (const std::string& w : warnings) out += "  - " + w + "\n";
  return out;
}

}  // namespace stepsight
