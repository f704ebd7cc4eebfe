// What must hold between the parts of a scenario, wherever it came from (a file, flags): the one
// place that knows which combinations are impossible.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/scenario.h"

namespace stepsight {

// One broken rule: a finished sentence, and the key whose value breaks it ("training", "seq"), so
// that a reader can point at it. `involves` names the other keys the rule looked at ("model" for
// all of the architecture): where one of those was misread the violation says nothing.
struct RuleViolation {
  std::string_view section;
  std::string key;
  std::string message;
  std::vector<std::string_view> involves;
};

// All broken rules; empty when the scenario can be simulated as far as its numbers go. Whether the
// GPU and the link are known is not asked here.
std::vector<RuleViolation> violations(const Scenario& scenario);

// K of "loopback:K", the loop-back link (each bucket is copied to host memory and back K times);
// empty for every other link. 0 where K is no number from 1 to 64.
std::optional<std::int64_t> loopback_count(std::string_view link);

}  // namespace stepsight
