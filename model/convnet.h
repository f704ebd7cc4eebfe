// The ResNet family (He et al. 2015, Deep Residual Learning; torchvision's v1.5, which strides in a
// bottleneck's 3 x 3 convolution): its parameter tensors and every operator of a step, in
// channels-last layout as convolutions on tensor cores want it.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/model_shape.h"
#include "model/model_stages.h"
#include "model/scenario.h"

namespace stepsight {

// Blocks of each of the four stages, and whether they are bottlenecks (1 x 1, 3 x 3, 1 x 1).
struct ConvnetPlan {
  std::array<std::int64_t, 4> depth{};
  bool bottleneck = false;
};

// Nothing for a number of layers that the family does not have (18, 34, 50, 101, 152).
std::optional<ConvnetPlan> convnet_plan(std::int64_t layers);

// In torchvision's order of registration. Precondition for both: problems(shape) is empty.
std::vector<ParameterTensor> convnet_tensors(const ModelShape& shape);

// `block` is the last stage's block of equal width, the stem and everything before it are in
// `embedding`. training.batch counts images; training.seq does not matter.
ModelStages convnet_stages(const ModelShape& shape, const Training& training);

// Bytes that enter one run of `block`.
double convnet_block_input(const ModelShape& shape, const Training& training);

// What is wrong with layers, image and vocab (classes), one sentence each.
std::vector<std::string> convnet_problems(const ModelShape& shape);

}  // namespace stepsight
