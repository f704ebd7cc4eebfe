// What a stopwatch on the host shows of one call of torch.distributed and the synchronisation after
// it: the host's issue, the collective, and the copies that calls over lists of tensors make.
#pragma once
#include <array>
#include <cstddef>
#include <optional>

#include "model/collective.h"
#include "model/units.h"

namespace stepsight {

// host_us is the median over the sweeps of V100, A100, GH200 and RTX 3090 on NVLink that PyTorch
// timed, of measured less class value less copies at 8 MiB and less (19 to 81 us a sweep for an
// all-reduce; 0.35 to 1.1 ms on four V100 and on four and eight RTX 3090). Calls over lists issue a
// kernel or an allocation a tensor on top, a reduce-scatter one for cutting its input into tensors,
// too.
// copies: PyTorch gathers into and scatters from one flat buffer and copies each tensor of the list
// out of it or into it (ProcessGroupNCCL.cpp); an all-to-all sends from the tensors themselves.
struct TimedCall {
  CollectiveKind kind;
  double host_us;
  double copies;  // of the whole message in device memory, each read once and written once
};

// In the order of CollectiveKind.
inline constexpr std::array<TimedCall, 5> timed_calls{{
    {CollectiveKind::all_reduce, 57, 0},
    {CollectiveKind::all_gather, 103, 1},
    {CollectiveKind::reduce_scatter, 193, 1},
    {CollectiveKind::all_to_all, 98, 0},
    {CollectiveKind::send_recv, 57, 0},
}};

constexpr const TimedCall& timed_call(CollectiveKind kind) {
  return timed_calls[static_cast<std::size_t>(kind)];
}

// What copies within a card's memory reach of its data sheet's rate: 4.25 of an H200's 4.8 TB/s.
constexpr BytesPerSecond copy_rate(double memory_GBps) {
  return BytesPerSecond{memory_GBps * 1e9 * 4.25 / 4.8};
}

// What copies of a message take that read and write `copy_rate` together.
constexpr Seconds list_copies(CollectiveKind kind, Bytes message, BytesPerSecond copy_rate) {
  return Seconds{2 * timed_call(kind).copies * message.value / copy_rate.value};
}

// One after the other: the host waits for the one call that it timed.
constexpr Seconds timed_from_host(CollectiveKind kind,
                                  Bytes message,
                                  Seconds collective,
                                  BytesPerSecond copy_rate) {
  return Seconds{timed_call(kind).host_us * 1e-6} + collective +
         list_copies(kind, message, copy_rate);
}

// The collective alone, of a call that was timed from the host. Nothing where it was less than a
// quarter of the call: hosts differ by more than that.
constexpr std::optional<Seconds> without_host(CollectiveKind kind,
                                              Bytes message,
                                              Seconds timed,
                                              BytesPerSecond copy_rate) {
  const Seconds left = timed - timed_from_host(kind, message, Seconds{0}, copy_rate);
  if (left < timed * 0.25) return std::nullopt;
  return left;
}

}  // namespace stepsight
