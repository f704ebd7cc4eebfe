// NCCL: the ranks of one communicator that this process holds, and the collectives they launch.
#pragma once
#include <memory>
#include <source_location>
#include <string_view>
#include <vector>

#include <nccl.h>

#include "calibrate/cuda/resources.h"
#include "calibrate/measure/collective_table.h"

namespace stepsight::calibrate {

// Throws GpuError unless `status` is ncclSuccess; adds NCCL's own last words.
void check(ncclResult_t status,
           std::string_view call,
           const std::source_location& where = std::source_location::current());

struct CommFree {
  void operator()(ncclComm_t comm) const { ncclCommDestroy(comm); }
};
using Comm = std::unique_ptr<ncclComm, CommFree>;

struct Member {
  int rank = 0;
  int device = 0;
  Comm comm;
  Stream stream;
};

// `members` are the ranks of this process, of `n` in all. A process that has no rank in it holds an
// empty list.
struct Group {
  std::vector<Member> members;
  int n = 0;
};

// All ranks in this process, rank i on devices[i]. `channels`: blocks of each collective's kernel;
// 0 leaves that to the library.
Group make_local_group(const std::vector<int>& devices, int channels = 0);

// One rank here, the others in other processes that join with the same id.
Group join_group(const ncclUniqueId& id, int n, int rank, int device);

// Where one member's data lies; 16-byte aligned, of buffer_elements() of the collective.
struct Buffers {
  const float* send = nullptr;
  float* receive = nullptr;
};

// Issues `kind` on the stream of every member, out of place, on a message of `elements` floats (a
// multiple of n); buffers[i] belongs to members[i].
void launch_collective(const Group& group,
                       CollectiveKind kind,
                       const std::vector<Buffers>& buffers,
                       std::int64_t elements);

// Waits for the streams of all members.
void wait(const Group& group);

// "2.28.9" of the library that is loaded.
std::string nccl_version();

}  // namespace stepsight::calibrate
