// The kinds of work that a training step runs beside each other.
#pragma once
#include <cstdint>
#include <vector>

#include "calibrate/measure/gemm_design.h"
#include "calibrate/measure/overlap_plan.h"
#include "calibrate/overlap/pair.h"

namespace stepsight::calibrate {

// Products of one bf16 shape, on each of the devices.
Work gemm_work(const std::vector<int>& devices, const std::string& name, const GemmShape& shape);

// Copies within device memory by every multiprocessor: the memory-bound kernel.
Work memory_work(const std::vector<int>& devices, std::int64_t bytes);

// Copies within device memory by `blocks` blocks only, on one device: what the kernel of a
// collective takes from the rest, without NCCL.
Work few_blocks_work(int device, std::int64_t bytes, int blocks);

// Copies by the copy engines to or from pinned memory; loopback = down and up again.
enum class HostCopy { d2h, h2d, loopback };
Work host_copy_work(int device, HostCopy kind, std::int64_t bytes);

// The settings of one group, over all of the devices. Empty for one device, and in programs built
// without NCCL (overlap/without_nccl.cpp). GpuError where the library refuses the channels.
std::vector<Work> collective_works(const std::vector<int>& devices, const ChannelGroup& group);

// "2.28.9"; empty in programs built without NCCL.
std::string collective_library();

}  // namespace stepsight::calibrate
