// Profiles by name, each read once.
#pragma once
#include <map>
#include <string>

#include "model/io/builtin.h"
#include "model/io/profile_file.h"

namespace stepsight {

class Profiles {
 public:
  // UserError with the nearest names for a card that is not known.
  const GpuProfile& get(const std::string& name) {
    const auto known = profiles_.find(name);
    if (known != profiles_.end()) return known->second;
    return profiles_.emplace(name, read_profile(name)).first->second;
  }

  // Null for a card that has neither a profile nor vendor's figures.
  const GpuProfile* find(const std::string& name) {
    const bool known = profiles_.contains(name) ||
                       find_named_file_if_any("profiles", name, ".toml").has_value() ||
                       find_named_file_if_any("gpus", name, ".toml").has_value();
    return known ? &get(name) : nullptr;
  }

 private:
  std::map<std::string, GpuProfile> profiles_;
};

}  // namespace stepsight
