// The output of CUDA's p2pBandwidthLatencyTest and of nvbandwidth: copies between pairs of GPUs,
// not a collective.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "model/io/nccl_log.h"

namespace stepsight {

bool looks_like_p2p_log(std::string_view text);

// Copies of the slowest pair, in both directions at once (half of the bidirectional matrix; the
// one-way matrix where there is no other), and their latency, as a sweep over two ranks: a ring of
// two sends both ways at once, too. The matrices with P2P enabled count where the cards may use it.
// UserError when there is no whole bandwidth matrix of at least two GPUs.
CollectiveLog read_p2p_log(const std::string& file, std::string_view text);

}  // namespace stepsight
