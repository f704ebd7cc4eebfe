// A link's curves for people and machines, and a machine's sweep held against them.
#pragma once
#include <string>
#include <vector>

#include "model/link_curve.h"
#include "model/link_verdict.h"

namespace stepsight {

// The groups that a report shows: those that were measured, else 2, 4 and 8 GPUs of one machine, or
// 1, 2, 4 and 8 machines where the class names a network. At most eight.
std::vector<CollectiveGroup> groups_to_show(const LinkFacts& link, CollectiveKind kind);

// Bus bandwidth of an all-reduce over message sizes, one column a group; the other collectives at
// one size; where each comes from.
std::string link_report_text(const LinkFacts& link);
std::string link_report_json(const LinkFacts& link);

// "low: 0.56 of what nvlink3-nvswitch has over 8 GPUs", by size, with likely causes.
std::string link_verdict_text(const LinkFacts& link,
                              const CollectiveGroup& group,
                              const LinkVerdict& verdict);
std::string link_verdict_json(const LinkFacts& link,
                              const CollectiveGroup& group,
                              const LinkVerdict& verdict);

}  // namespace stepsight
