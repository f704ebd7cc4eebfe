// What NCCL says of itself with NCCL_DEBUG=INFO, between any other lines: which transport each
// channel took, over which network, by which plugin. That alone tells "no P2P", "TCP in place of
// InfiniBand" and "a plugin carries RDMA although NCCL_IB_DISABLE is set" apart.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stepsight {

struct NcclInfo {
  std::int64_t lines = 0;  // of NCCL
  std::string version;     // "2.24.3+cuda12.6"; the first one
  std::int64_t ranks = 0;  // the largest communicator
  std::map<std::string, std::int64_t>
      transports;  // "P2P/CUMEM", "SHM/direct", "NET/IB" -> channels
  std::map<std::string, std::int64_t> algorithms;  // "RING SIMPLE" -> operations
  std::string network;         // "Socket", "IB", "AWS Libfabric": what NET/ uses
  std::string plugin;          // a network plugin that was loaded
  bool no_infiniband = false;  // "NET/IB : No device found"
  std::int64_t gpudirect = 0;  // channels whose adapter reads GPU memory

  // Channels whose transport begins with the word ("P2P", "SHM", "NET").
  [[nodiscard]] std::int64_t channels(std::string_view word) const;
};

// What the lines mean for a training run, most telling first; empty when all is as it should be.
std::vector<std::string> findings(const NcclInfo& info);

// Streams the file. UserError when it cannot be read or holds no line of NCCL.
NcclInfo read_nccl_info(const std::string& path);
NcclInfo read_nccl_info_text(const std::string& file, std::string_view text);

}  // namespace stepsight
