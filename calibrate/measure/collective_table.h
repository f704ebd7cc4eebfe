// The collectives that are measured: what moves, how nccl-tests counts it, and on which GPUs.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepsight::calibrate {

enum class CollectiveKind {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  all_to_all,
  send_recv
};

// What one rank holds, as a function of the message size S and n ranks. nccl-tests calls S the size
// of the larger of the two buffers of a rank: S/n per rank is gathered, S is scattered.
enum class BufferSize { message, message_over_n };

// busbw = algbw * factor; algbw = S / time. The factor makes busbw the traffic on the busiest link
// of a ring, comparable to the link's rate whatever n is (nccl-tests, doc/PERFORMANCE.md).
enum class BusFactor { one, n_minus_1_over_n, twice_n_minus_1_over_n };

struct CollectiveRow {
  CollectiveKind kind;
  std::string_view name;  // as nccl-tests and the files here spell it
  BufferSize send;
  BufferSize receive;
  BusFactor factor;
};

inline constexpr std::array<CollectiveRow, 6> collective_table{{
    {CollectiveKind::all_reduce,
     "all_reduce",
     BufferSize::message,
     BufferSize::message,
     BusFactor::twice_n_minus_1_over_n},
    {CollectiveKind::all_gather,
     "all_gather",
     BufferSize::message_over_n,
     BufferSize::message,
     BusFactor::n_minus_1_over_n},
    {CollectiveKind::reduce_scatter,
     "reduce_scatter",
     BufferSize::message,
     BufferSize::message_over_n,
     BusFactor::n_minus_1_over_n},
    {CollectiveKind::broadcast,
     "broadcast",
     BufferSize::message,
     BufferSize::message,
     BusFactor::one},
    {CollectiveKind::all_to_all,
     "alltoall",
     BufferSize::message,
     BufferSize::message,
     BusFactor::n_minus_1_over_n},
    {CollectiveKind::send_recv,
     "sendrecv",
     BufferSize::message,
     BufferSize::message,
     BusFactor::one},
}};

constexpr const CollectiveRow& info(CollectiveKind kind) {
  return collective_table[static_cast<std::size_t>(kind)];
}

// Elements in a rank's buffer when the message has `elements` (a multiple of n).
std::int64_t buffer_elements(BufferSize size, std::int64_t elements, int n);

double bus_factor(BusFactor factor, int n);

// Elements of 4 bytes nearest below `bytes` that divide by n; at least n.
std::int64_t message_elements(std::int64_t bytes, int n);

// What rank `rank` puts at `index` of its send buffer, and what it must find at `index` of its
// receive buffer afterwards. `elements` is the whole message. Small whole numbers, so that sums
// over up to 1024 ranks are exact in fp32 whatever the order of addition.
float send_value(int rank, std::int64_t index);
float expected_value(
    CollectiveKind kind, int rank, int n, std::int64_t elements, std::int64_t index);

// GPUs of one machine to run together, smallest first: 2, 4, 8, ... neighbours, the whole machine,
// and where there are at least four, one far pair {0, n/2}, which crosses sockets on PCIe machines.
// One GPU gives {{0}}: a run that checks the path from end to end.
std::vector<std::vector<int>> gpu_subsets(int gpus);

// "0,1,4".
std::string join(const std::vector<int>& values);

// All kinds in a comma-separated list ("all" for each of them); UserError names an unknown one.
std::vector<CollectiveKind> parse_collectives(std::string_view list);

}  // namespace stepsight::calibrate
