#include "calibrate/nccl/communicators.h"

#include <string>

#include "calibrate/cuda/check.h"

namespace stepsight::calibrate {
namespace {

void all_to_all(const Member& member, int n, const Buffers& b, std::size_t block) {
  for (int peer = 0; peer < n; ++peer) {
    const std::size_t at = static_cast<std::size_t>(peer) * block;
    check(ncclSend(b.send + at, block, ncclFloat, peer, member.comm.get(), member.stream.get()),
          "ncclSend");
    check(ncclRecv(b.receive + at, block, ncclFloat, peer, member.comm.get(), member.stream.get()),
          "ncclRecv");
  }
}

// To the next rank of a ring, from the previous one.
void send_on(const Member& member, int n, const Buffers& b, std::size_t count) {
  const int next = (member.rank + 1) % n;
  const int previous = (member.rank + n - 1) % n;
  check(ncclSend(b.send, count, ncclFloat, next, member.comm.get(), member.stream.get()),
        "ncclSend");
  check(ncclRecv(b.receive, count, ncclFloat, previous, member.comm.get(), member.stream.get()),
        "ncclRecv");
}

void launch_one(
    const Member& member, int n, CollectiveKind kind, const Buffers& b, std::int64_t elements) {
  const ncclComm_t comm = member.comm.get();
  const cudaStream_t stream = member.stream.get();
  const auto count = static_cast<std::size_t>(elements);
  const std::size_t block = count / static_cast<std::size_t>(n);
  switch (kind) {
    case CollectiveKind::all_reduce:
      check(ncclAllReduce(b.send, b.receive, count, ncclFloat, ncclSum, comm, stream),
            "ncclAllReduce");
      break;
    case CollectiveKind::all_gather:
      check(ncclAllGather(b.send, b.receive, block, ncclFloat, comm, stream), "ncclAllGather");
      break;
    case CollectiveKind::reduce_scatter:
      check(ncclReduceScatter(b.send, b.receive, block, ncclFloat, ncclSum, comm, stream),
            "ncclReduceScatter");
      break;
    case CollectiveKind::broadcast:
      check(ncclBroadcast(b.send, b.receive, count, ncclFloat, 0, comm, stream), "ncclBroadcast");
      break;
    case CollectiveKind::all_to_all:
      all_to_all(member, n, b, block);
      break;
    case CollectiveKind::send_recv:
      send_on(member, n, b, count);
      break;
  }
}

// Communicators whose kernels take exactly `channels` blocks, as far as the library allows.
void init_with_channels(const std::vector<int>& devices,
                        int channels,
                        std::vector<ncclComm_t>& comms) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = channels;
  config.maxCTAs = channels;
  ncclUniqueId id{};
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  const int n = static_cast<int>(devices.size());
  check(ncclGroupStart(), "ncclGroupStart");
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    check(cudaSetDevice(devices[at]), "cudaSetDevice");
    check(ncclCommInitRankConfig(&comms[at], n, id, i, &config), "ncclCommInitRankConfig");
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
}

}  // namespace

void check(ncclResult_t status, std::string_view call, const std::source_location& where) {
  if (status == ncclSuccess) return;
  std::string reason = ncclGetErrorString(status);
  const char* last = ncclGetLastError(nullptr);
  if (last != nullptr && *last != '\0') reason += std::string(": ") + last;
  while (reason.ends_with('\n')) reason.pop_back();
  fail_call(call, reason, where);
}

Group make_local_group(const std::vector<int>& devices, int channels) {
  std::vector<ncclComm_t> comms(devices.size(), nullptr);
  if (channels == 0) {
    check(ncclCommInitAll(comms.data(), static_cast<int>(devices.size()), devices.data()),
          "ncclCommInitAll");
  } else {
    init_with_channels(devices, channels, comms);
  }
  Group group{.members = {}, .n = static_cast<int>(devices.size())};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    check(cudaSetDevice(devices[i]), "cudaSetDevice");
    group.members.push_back({.rank = static_cast<int>(i),
                             .device = devices[i],
                             .comm = Comm(comms[i]),
                             .stream = make_stream()});
  }
  return group;
}

Group join_group(const ncclUniqueId& id, int n, int rank, int device) {
  check(cudaSetDevice(device), "cudaSetDevice");
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, n, id, rank), "ncclCommInitRank");
  Group group{.members = {}, .n = n};
  group.members.push_back(
      {.rank = rank, .device = device, .comm = Comm(comm), .stream = make_stream()});
  return group;
}

void launch_collective(const Group& group,
                       CollectiveKind kind,
                       const std::vector<Buffers>& buffers,
                       std::int64_t elements) {
  if (group.members.empty()) return;
  check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    launch_one(group.members[i], group.n, kind, buffers[i], elements);
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
}

void wait(const Group& group) {
  for (const Member& member : group.members) {
    check(cudaStreamSynchronize(member.stream.get()), "cudaStreamSynchronize");
  }
}

std::string nccl_version() {
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace stepsight::calibrate
