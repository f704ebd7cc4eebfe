// Max-min fair sharing of links by progressive filling (Bertsekas & Gallager, Data
// Networks, 6.5.2): the bandwidth of all flows rises together from zero; a flow stops at its own
// limit, or when a link on its path is full; the others rise on. The result is the only allocation
// in which no flow can have more without taking from one that has no more than it.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace stepsight {

// A link, or one direction of it: a strong index into an array of capacities.
enum class LinkId : std::uint32_t {};
constexpr std::uint32_t index(LinkId id) {
  return static_cast<std::uint32_t>(id);
}

// Flow f crosses links[begin[f] .. begin[f + 1]); it may cross the same link more than once, and
// then takes its bandwidth that often.
struct FlowPaths {
  std::span<const std::uint32_t> begin;
  std::span<const LinkId> links;

  std::span<const LinkId> of(std::uint32_t flow) const {
    return links.subspan(begin[flow], begin[flow + 1] - begin[flow]);
  }
};

// Working memory, reused between calls so that the engine's loop does not allocate.
struct MaxMinScratch {
  std::vector<double> left;           // a link: capacity not yet given to a settled flow
  std::vector<std::uint32_t> users;   // a link: crossings by flows that still rise
  std::vector<std::uint32_t> rising;  // positions in `active`
};

// share[i] = bandwidth of flow active[i], which asks for limit[i] > 0; capacity is by LinkId, and
// all three are in the same unit. O(rounds * crossings), at most one round a flow.
void max_min_fair(const FlowPaths& paths,
                  std::span<const double> capacity,
                  std::span<const std::uint32_t> active,
                  std::span<const double> limit,
                  std::span<double> share,
                  MaxMinScratch& scratch);

}  // namespace stepsight
