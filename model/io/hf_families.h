// The config.json of families whose keys have little in common with a decoder's: T5, vision
// transformers, residual nets and Transformer-XL. Each fills in family_defaults(); what is not
// modelled is a mistake of the table.
#pragma once
#include "model/io/table.h"
#include "model/model_shape.h"

namespace stepsight {

void read_t5(Table& table, ModelShape& shape);
void read_vit(Table& table, ModelShape& shape);
// The depths must be those of torchvision's nets.
void read_resnet(Table& table, ModelShape& shape);
// With embeddings of one width (div_val = 1).
void read_transformer_xl(Table& table, ModelShape& shape);

}  // namespace stepsight
