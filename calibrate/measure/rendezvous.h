// The processes of one run find each other and agree: rank 0 listens, the others connect, and every
// exchange goes through rank 0. Small messages only (an NCCL id, timings), so a star suffices.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/measure/ranks.h"

namespace stepsight::calibrate {

class Rendezvous {
 public:
  // Connects all ranks of `ranks` at address:port. With `file`, rank 0 takes any free port and
  // writes where it is into that file, which all ranks must see; a stale file does no harm. Returns
  // when all ranks have met; UserError after `patience_s`, or when the worlds differ in size. One
  // process alone (world = 1) opens nothing.
  Rendezvous(const RankInfo& ranks, const std::string& file, double patience_s);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  Rendezvous(Rendezvous&&) = delete;
  Rendezvous& operator=(Rendezvous&&) = delete;

  // Rank 0's bytes, on every rank.
  std::string broadcast(std::string_view from_rank_0);

  // Element by element the largest over all ranks, the same on every rank. All ranks pass equally
  // many values. Also serves as a barrier.
  std::vector<double> largest(const std::vector<double>& mine);

 private:
  void accept_all(int listener, double patience_s);
  void connect_to_first(const std::string& file, double patience_s);

  RankInfo ranks_;
  std::vector<int> sockets_;  // rank 0: one per other rank, by rank - 1; others: the one to rank 0
};

}  // namespace stepsight::calibrate
