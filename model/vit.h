// A vision transformer (Dosovitskiy et al. 2020; torchvision's vit_b_16 and its like): what stands
// before and after its blocks, which are GPT's without a causal mask.
#pragma once
#include <string>
#include <vector>

#include "model/model_shape.h"
#include "model/stage_builder.h"

namespace stepsight {

// Patches by a convolution whose stride is its window, the class token before them, and positions.
// The builder's training.seq is image_tokens(shape).
void patch_embedding(StageBuilder& b, const ModelShape& shape);

// The classifier on the class token, with its loss.
void image_classifier(StageBuilder& b, const ModelShape& shape);

// Tensors before the blocks (layer -1).
std::vector<ParameterTensor> patch_tensors(const ModelShape& shape);

// What is wrong with image and patch.
std::vector<std::string> patch_problems(const ModelShape& shape);

}  // namespace stepsight
