#include "calibrate/cuda/nvml.h"

#include <array>

#include <dlfcn.h>

namespace stepsight::calibrate {
namespace {

// The few declarations of nvml.h that are used: many GPU machines have the library and not the
// header. Names, types and numbers are stable parts of NVML's interface.
using Handle = struct NvmlDevice*;
constexpr int success = 0;
constexpr unsigned clock_sm = 1;
constexpr unsigned clock_memory = 2;
constexpr unsigned most_nvlinks = 18;  // NVML_NVLINK_MAX_LINKS
constexpr unsigned remote_is_gpu = 0;  // nvmlIntNvLinkDeviceType_t
constexpr unsigned remote_is_switch = 2;

struct ThrottleBit {
  std::uint64_t bit;
  const char* name;
};

constexpr std::array<ThrottleBit, 9> throttle_bits{{
    {0x001, "idle"},
    {0x002, "application_clocks"},
    {0x004, "sw_power_cap"},
    {0x008, "hw_slowdown"},
    {0x010, "sync_boost"},
    {0x020, "sw_thermal"},
    {0x040, "hw_thermal"},
    {0x080, "hw_power_brake"},
    {0x100, "display_clocks"},
}};

}  // namespace

struct Nvml::Library {
  void* shared = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_bus_id)(const char*, Handle*) = nullptr;
  int (*clock)(Handle, unsigned, unsigned*) = nullptr;
  int (*max_clock)(Handle, unsigned, unsigned*) = nullptr;
  int (*throttle)(Handle, unsigned long long*) = nullptr;
  int (*temperature)(Handle, unsigned, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*power_limit)(Handle, unsigned*) = nullptr;
  int (*energy)(Handle, unsigned long long*) = nullptr;
  int (*generation)(Handle, unsigned*) = nullptr;
  int (*width)(Handle, unsigned*) = nullptr;
  int (*max_generation)(Handle, unsigned*) = nullptr;
  int (*max_width)(Handle, unsigned*) = nullptr;
  int (*nvlink_state)(Handle, unsigned, unsigned*) = nullptr;
  int (*nvlink_remote)(Handle, unsigned, unsigned*) = nullptr;

  template <typename Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(shared, name));
  }

  Handle device(const std::string& pci_bus_id) const {
    Handle handle = nullptr;
    if (by_bus_id == nullptr || by_bus_id(pci_bus_id.c_str(), &handle) != success) return nullptr;
    return handle;
  }
};

Nvml::Nvml() : library_(std::make_unique<Library>()) {
  Library& l = *library_;
  l.shared = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (l.shared == nullptr) return;
  int (*init)() = nullptr;
  l.load(init, "nvmlInit_v2");
  if (init == nullptr || init() != success) return;
  l.load(l.shutdown, "nvmlShutdown");
  l.load(l.driver_version, "nvmlSystemGetDriverVersion");
  l.load(l.by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  l.load(l.clock, "nvmlDeviceGetClockInfo");
  l.load(l.max_clock, "nvmlDeviceGetMaxClockInfo");
  l.load(l.throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
  l.load(l.temperature, "nvmlDeviceGetTemperature");
  l.load(l.power, "nvmlDeviceGetPowerUsage");
  l.load(l.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  l.load(l.energy, "nvmlDeviceGetTotalEnergyConsumption");
  l.load(l.generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  l.load(l.width, "nvmlDeviceGetCurrPcieLinkWidth");
  l.load(l.max_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
  l.load(l.max_width, "nvmlDeviceGetMaxPcieLinkWidth");
  l.load(l.nvlink_state, "nvmlDeviceGetNvLinkState");
  l.load(l.nvlink_remote, "nvmlDeviceGetNvLinkRemoteDeviceType");
}

Nvml::~Nvml() {
  if (library_->shutdown != nullptr) library_->shutdown();
  if (library_->shared != nullptr) ::dlclose(library_->shared);
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  const auto length = static_cast<unsigned>(text.size());
  if (library_->driver_version == nullptr ||
      library_->driver_version(text.data(), length) != success) {
    return "unknown";
  }
  return text.data();
}

Record Nvml::clocks(const std::string& pci_bus_id) const {
  const Library& l = *library_;
  const Handle device = l.device(pci_bus_id);
  Record record;
  if (device == nullptr) return record;
  unsigned value = 0;
  const auto add = [&](const char* key, int status, double unit) {
    if (status == success) record.push_back(field(key, static_cast<double>(value) * unit));
  };
  if (l.clock != nullptr) {
    add("sm_MHz", l.clock(device, clock_sm, &value), 1);
    add("memory_MHz", l.clock(device, clock_memory, &value), 1);
  }
  if (l.max_clock != nullptr) add("sm_max_MHz", l.max_clock(device, clock_sm, &value), 1);
  if (l.temperature != nullptr) add("temperature_C", l.temperature(device, 0, &value), 1);
  if (l.power != nullptr) add("power_W", l.power(device, &value), 1e-3);
  if (l.power_limit != nullptr) add("power_limit_W", l.power_limit(device, &value), 1e-3);
  unsigned long long bits = 0;
  if (l.throttle != nullptr && l.throttle(device, &bits) == success) {
    record.push_back(field("throttle", throttle_text(bits)));
  }
  return record;
}

Record Nvml::link(const std::string& pci_bus_id) const {
  const Library& l = *library_;
  const Handle device = l.device(pci_bus_id);
  Record record;
  if (device == nullptr) return record;
  const auto add = [&](const char* key, int (*query)(Handle, unsigned*)) {
    unsigned value = 0;
    if (query != nullptr && query(device, &value) == success) record.push_back(field(key, value));
  };
  add("pcie_generation", l.generation);
  add("pcie_width", l.width);
  add("pcie_max_generation", l.max_generation);
  add("pcie_max_width", l.max_width);
  unsigned links = 0;
  const char* leads_to = nullptr;
  for (unsigned i = 0; l.nvlink_state != nullptr && i < most_nvlinks; ++i) {
    unsigned up = 0;
    if (l.nvlink_state(device, i, &up) != success || up == 0) continue;
    ++links;
    unsigned kind = 0;
    if (leads_to != nullptr || l.nvlink_remote == nullptr) continue;
    if (l.nvlink_remote(device, i, &kind) == success) {
      leads_to = kind == remote_is_switch ? "switch" : kind == remote_is_gpu ? "gpu" : "other";
    }
  }
  if (links > 0) record.push_back(field("nvlinks", links));
  if (leads_to != nullptr) record.push_back(field("nvlink_to", leads_to));
  return record;
}

Nvml::Sample Nvml::sample(const std::string& pci_bus_id) const {
  const Library& l = *library_;
  const Handle device = l.device(pci_bus_id);
  Sample result;
  unsigned long long bits = 0;
  if (device == nullptr || l.clock == nullptr || l.power == nullptr || l.throttle == nullptr) {
    return result;
  }
  result.valid = l.clock(device, clock_sm, &result.sm_mhz) == success &&
                 l.power(device, &result.milliwatts) == success &&
                 l.throttle(device, &bits) == success;
  result.throttle = bits;
  return result;
}

double Nvml::highest_sm_mhz(const std::string& pci_bus_id) const {
  const Handle device = library_->device(pci_bus_id);
  unsigned value = 0;
  if (device == nullptr || library_->max_clock == nullptr) return 0;
  return library_->max_clock(device, clock_sm, &value) == success ? value : 0;
}

double Nvml::power_limit_w(const std::string& pci_bus_id) const {
  const Handle device = library_->device(pci_bus_id);
  unsigned value = 0;
  if (device == nullptr || library_->power_limit == nullptr) return 0;
  return library_->power_limit(device, &value) == success ? value * 1e-3 : 0;
}

std::optional<std::uint64_t> Nvml::energy_mj(const std::string& pci_bus_id) const {
  const Handle device = library_->device(pci_bus_id);
  unsigned long long value = 0;
  if (device == nullptr || library_->energy == nullptr ||
      library_->energy(device, &value) != success) {
    return std::nullopt;
  }
  return value;
}

std::string throttle_text(std::uint64_t bits) {
  std::string text;
  for (const ThrottleBit& row : throttle_bits) {
    if ((bits & row.bit) == 0) continue;
    if (!text.empty()) text += ',';
    text += row.name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace stepsight::calibrate
