// What a measurement file says about the machine apart from its GPU.
#pragma once
#include "calibrate/measure/record.h"

namespace stepsight::calibrate {

// Processor, cores and memory. No host name, user or address: files are shared with others.
Record machine_record();

// Every variable of this process whose name starts with NCCL_, CUDA_, OMP_ or TORCH_, sorted.
Record environment_record();

}  // namespace stepsight::calibrate
