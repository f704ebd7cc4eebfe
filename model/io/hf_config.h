// Hugging Face config.json files of the families that model_shape.h can express.
#pragma once
#include <string>
#include <string_view>

#include "model/model_shape.h"

namespace stepsight {

// Reads a config.json with model_type gpt2, llama, mistral, qwen2 or bert; keys as transformers'
// configuration classes name them, and their defaults where a key is absent. Other keys (token
// ids, initialisation) do not matter here and are ignored.
//
// Two limits, where model_shape.h has no field: a sliding attention window shorter than
// max_position_embeddings becomes the longest sequence (up to it the model is the same); the
// next-sentence head of BertForPreTraining (2 hidden + 2 parameters) is left out.
//
// Throws UserError for unreadable, larger than 1 MB or malformed files, an unknown model_type
// (with the known ones), and all missing or impossible values at once, as file:line:column.
ModelShape read_hf_config(const std::string& path);
ModelShape read_hf_config_text(const std::string& file, std::string_view text);

}  // namespace stepsight
