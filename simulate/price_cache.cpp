#include "simulate/price_cache.h"

#include <algorithm>
#include <bit>

namespace stepsight {

namespace {

// Few enough to stay in the caches of a core.
constexpr std::size_t most_shapes = 1U << 12U;
constexpr std::size_t most_links = 256;

using Key = std::array<std::int64_t, 6>;

std::int64_t tag(std::int64_t kind, std::int64_t dtype, std::int64_t rest) {
  return kind | dtype << 4 | rest << 12;
}

// Every field by its name: one that is added does not compile until the key has it, too.
// Convolutions have too many sizes; a convolution net's step is asked for as it is.
bool key_of(const Work& work, Key& key) {
  if (const auto* gemm = std::get_if<Gemm>(&work)) {
    const auto& [m, n, k, batch, dtype, layout] = *gemm;
    key = {tag(1, static_cast<int>(dtype), static_cast<int>(layout)), m, n, k, batch, 0};
  } else if (const auto* attention = std::get_if<Attention>(&work)) {
    const auto& [batch, heads, kv_heads, seq, head_dim, causal, backward, dropout, dtype, kernel] =
        *attention;
    const int flags =
        (causal ? 1 : 0) | (backward ? 2 : 0) | (dropout ? 4 : 0) | static_cast<int>(kernel) << 3;
    key = {tag(2, static_cast<int>(dtype), flags), batch, heads, kv_heads, seq, head_dim};
  } else if (const auto* pass = std::get_if<Pass>(&work)) {
    const auto& [kind, rows, cols, dtype] = *pass;
    key = {tag(3, static_cast<int>(dtype), static_cast<int>(kind)), rows, cols, 0, 0, 0};
  } else {
    return false;
  }
  return true;
}

std::size_t hash_of(const Key& key) {
  std::uint64_t h = 0x9e3779b97f4a7c15U;
  for (const std::int64_t word : key) {
    h = (h ^ static_cast<std::uint64_t>(word)) * 0xff51afd7ed558ccdU;
    h ^= h >> 32U;
  }
  return static_cast<std::size_t>(h);
}

bool same(const Cluster& a, const Cluster& b) {
  return a.facts == b.facts && a.link == b.link && a.link_speed == b.link_speed && a.topo == b.topo;
}
bool same(const CollectiveGroup& a, const CollectiveGroup& b) {
  return a.kind == b.kind && a.ranks == b.ranks && a.nodes == b.nodes && a.sharing == b.sharing;
}

}  // namespace

template <typename Value>
Value& PriceCache::Shapes<Value>::at(const Key& key, bool& is_new) {
  if (slots.empty() || used > most_shapes / 2) {
    slots.assign(most_shapes, {});
    used = 0;
  }
  std::size_t i = hash_of(key) % most_shapes;
  while (slots[i].used && slots[i].key != key) i = (i + 1) % most_shapes;
  is_new = !slots[i].used;
  if (is_new) {
    slots[i].key = key;
    slots[i].used = true;
    ++used;
  }
  return slots[i].value;
}

Cost PriceCache::cost(const Work& work) {
  Key key{};
  if (!key_of(work, key)) return stepsight::cost(work, gpu_, &surfaces_);
  bool is_new = false;
  Cost& known = operators_.at(key, is_new);
  if (is_new) known = stepsight::cost(work, gpu_, &surfaces_);
  return known;
}

LinkCost PriceCache::message(const Link& link, Bytes bytes) {
  if (link.kind != Link::Kind::collective) return message_time(link, gpu_, bytes);
  // A curve that went away could leave its address to another.
  if (std::ranges::find(curves_, link.curve) == curves_.end()) {
    if (curves_.size() == most_links) {
      curves_.clear();
      messages_ = {};
    }
    curves_.push_back(link.curve);
  }
  bool is_new = false;
  LinkCost& known =
      messages_.at({static_cast<std::int64_t>(std::bit_cast<std::uintptr_t>(link.curve.get())),
                    std::bit_cast<std::int64_t>(bytes.value),
                    0,
                    0,
                    0,
                    0},
                   is_new);
  if (is_new) known = message_time(link, gpu_, bytes);
  return known;
}

Link PriceCache::collective(const Cluster& cluster, const CollectiveGroup& group) {
  for (const Known& known : links_) {
    if (same(known.group, group) && same(known.cluster, cluster)) return known.link;
  }
  if (links_.size() == most_links) links_.clear();
  links_.push_back({cluster, group, resolve_collective(gpu_, cluster, group)});
  return links_.back().link;
}

}  // namespace stepsight
