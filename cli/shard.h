// One of several machines' part of a sweep.
#pragma once
#include <cstdint>
#include <string>

namespace stepsight {

struct Shard {
  std::uint64_t number = 1;  // from 1
  std::uint64_t of = 1;
};

// "2/8", or "auto": what a Slurm array, a Slurm step or an MPI launcher says in the environment.
// UserError says what is wrong.
Shard parse_shard(const std::string& text);

struct Stretch {
  std::uint64_t begin = 0, end = 0;
};
// The shard's stretch of `count` items: all shards' stretches in order are the whole.
Stretch stretch_of(const Shard& shard, std::uint64_t count);

}  // namespace stepsight
