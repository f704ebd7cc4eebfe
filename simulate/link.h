// What connects the GPUs of a scenario, as the simulator uses it: the time of one gradient bucket.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "model/collective.h"
#include "model/profile.h"

namespace stepsight {

// A resolved link: either a measured curve of the profile, or the loop-back link, which copies each
// bucket to pinned host memory and back `copies` times in place of an all-reduce (so that overlap
// can be measured on one GPU), or nothing.
struct Link {
  enum class Kind : std::uint8_t { none, loopback, collective };
  Kind kind = Kind::none;
  int copies = 0;                          // loopback
  const CollectiveCurve* curve = nullptr;  // collective: all_reduce over `ranks`
};

// "" or one GPU without a loop-back: none. "loopback:K". Otherwise the profile's all-reduce on the
// link of that name over `gpus` ranks. UserError names the links and group sizes that were
// measured.
Link resolve_link(const GpuProfile& gpu, std::string_view name, std::int64_t gpus);

// The name of every link that the profile has an all-reduce for, sorted, each once.
std::vector<std::string> link_names(const GpuProfile& gpu);

struct LinkCost {
  Seconds time;
  bool measured = true;
};
LinkCost bucket_time(const Link& link, const GpuProfile& gpu, Bytes message);

}  // namespace stepsight
