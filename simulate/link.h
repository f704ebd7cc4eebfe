// What connects the GPUs of a scenario, as the simulator uses it: the time of one gradient bucket.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "model/collective.h"
#include "model/link_curve.h"
#include "model/profile.h"
#include "model/scenario.h"

namespace stepsight {

// A resolved link: a curve, measured or by class, or the loop-back link, which copies each bucket
// to pinned host memory and back `copies` times in place of an all-reduce (so that overlap can be
// measured on one GPU), or nothing.
struct Link {
  enum class Kind : std::uint8_t { none, loopback, collective };
  Kind kind = Kind::none;
  int copies = 0;                                // loopback
  std::shared_ptr<const CollectiveCurve> curve;  // collective: all_reduce over `ranks`
  CurveOrigin origin = CurveOrigin::measured;
};

// The curve of a collective: the profile's own for that link and group size, else what the link's
// file or its class says (model/link_curve.h). A profile's curve lives as long as the profile.
// Its bandwidth is `cluster.link_speed` times that. UserError names the links and group sizes that
// are known.
Link resolve_collective(const GpuProfile& gpu,
                        const Cluster& cluster,
                        const CollectiveGroup& group);

// The loop-back that a cluster's link names ("loopback:K"), else none. UserError for a bad K.
Link loopback_link(const Cluster& cluster);

// "" or one GPU without a loop-back: none. "loopback:K". Otherwise the all-reduce over all GPUs.
Link resolve_link(const GpuProfile& gpu, const Cluster& cluster);
// The same for a link by its name alone: the profile's, or a class.
Link resolve_link(const GpuProfile& gpu, std::string_view name, std::int64_t gpus);

// The name of every link that the profile has an all-reduce for, sorted, each once.
std::vector<std::string> link_names(const GpuProfile& gpu);

struct LinkCost {
  Seconds time;
  bool measured = true;
};
// Time of one collective, or of one gradient bucket on the loop-back.
LinkCost message_time(const Link& link, const GpuProfile& gpu, Bytes message);

}  // namespace stepsight
