// Profiles by name, each read once.
#pragma once
#include <map>
#include <string>

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

 private:
  std::map<std::string, GpuProfile> profiles_;
};

}  // namespace stepsight
