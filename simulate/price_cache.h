// What has been priced already: operators by shape, messages by size, collectives by group. The
// points of a sweep have most of them in common. The answers are those of model/cost.h and
// simulate/link.h, to the last digit. For one thread.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/cost.h"
#include "model/measured_surface.h"
#include "model/profile.h"
#include "simulate/link.h"

namespace stepsight {

class PriceCache {
 public:
  // The profile must outlive the cache and not change.
  explicit PriceCache(const GpuProfile& gpu) : gpu_(gpu) {}

  Cost cost(const Work& work);
  LinkCost message(const Link& link, Bytes bytes);
  // As resolve_collective().
  Link collective(const Cluster& cluster, const CollectiveGroup& group);

 private:
  using Key = std::array<std::int64_t, 6>;
  // Open addressing; when it is full enough it starts anew, so that memory stays flat.
  template <typename Value>
  struct Shapes {
    struct Slot {
      Key key{};
      Value value{};
      bool used = false;
    };
    std::vector<Slot> slots;
    std::size_t used = 0;

    // The key's slot, new or known (`is_new` says which).
    Value& at(const Key& key, bool& is_new);
  };
  struct Known {
    Cluster cluster;
    CollectiveGroup group;
    Link link;
  };

  const GpuProfile& gpu_;
  Shapes<Cost> operators_;
  SurfaceMemory surfaces_;
  Shapes<LinkCost> messages_;
  std::vector<std::shared_ptr<const CollectiveCurve>> curves_;  // of the messages that are known
  std::vector<Known> links_;
};

}  // namespace stepsight
