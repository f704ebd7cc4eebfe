// All ranks of a run, whether this process holds every GPU of a machine or one GPU of many
// machines.
#pragma once
#include <string>
#include <vector>

#include "calibrate/measure/ranks.h"
#include "calibrate/measure/rendezvous.h"
#include "calibrate/nccl/communicators.h"

namespace stepsight::calibrate {

class World {
 public:
  // Alone: all visible GPUs. Under a launcher: the GPU of the local rank, after all ranks have met.
  // UserError without a GPU.
  World(const RankInfo& ranks, const std::string& rendezvous_file);

  int size() const;  // ranks in all
  bool first() const { return ranks_.rank == 0; }
  const RankInfo& ranks() const { return ranks_; }
  const std::vector<int>& devices() const { return devices_; }  // of this process

  // A communicator of the given ranks, rank 0 among them. Every process of the world must call.
  Group make_group(const std::vector<int>& members);

  // Element by element the largest over all processes; a barrier.
  std::vector<double> largest(const std::vector<double>& mine) { return meeting_.largest(mine); }

 private:
  RankInfo ranks_;
  std::vector<int> devices_;
  Rendezvous meeting_;
};

}  // namespace stepsight::calibrate
