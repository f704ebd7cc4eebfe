// Is a machine's collective as fast as its link should be? A measured sweep against the link's
// figures, and, where it is slower, which fault of the class would look like that.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/link_curve.h"

namespace stepsight {

struct MeasuredBusbw {
  double bytes = 0;
  double busbw_GBps = 0;
};

enum class LinkHealth : std::uint8_t { fine, fast, low, broken };

struct LinkComparison {
  double bytes = 0;
  double measured_GBps = 0;
  double expected_GBps = 0;
};

struct LinkVerdict {
  LinkHealth health = LinkHealth::fine;
  double ratio = 1;          // measured over expected, geometric mean of the largest messages
  double latency_ratio = 0;  // time of the smallest message over the expected; 0 without small ones
  CurveOrigin origin = CurveOrigin::class_value;  // of what was expected
  std::vector<LinkComparison> rows;               // by message
  std::vector<std::string> causes;                // most likely first; empty when fine
};

// `transports` are those that the log names ("SHM/direct", "NET/Socket"); may be empty. At least
// one point. Fine is within 25 % of a measured link and within 40 % of a class; broken is under 40
// %. UserError when the link has no curve for the group.
LinkVerdict judge_link(const LinkFacts& link,
                       const CollectiveGroup& group,
                       std::span<const MeasuredBusbw> points,
                       std::span<const std::string> transports);

// "fine", "faster than expected", "low", "broken"
std::string_view describe(LinkHealth health);

}  // namespace stepsight
