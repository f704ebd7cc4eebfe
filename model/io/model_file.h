// Models by name: built-in or own model files (scenarios/models/*.toml) and Hugging Face
// config.json files.
#pragma once
#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "model/io/table.h"
#include "model/model_shape.h"

namespace stepsight {

// The model that `name` means: a built-in name ("llama2-7b"; an own file of that name overrides
// it), the path of a model file, or the path of a config.json. Throws UserError with the nearest
// names or with everything that is wrong in the file.
ModelShape read_model(const std::string& name);

// A model file: the keys of [model] in a scenario at the top level, and optionally `parameters`,
// which must then equal parameter_count().
ModelShape read_model_text(const std::string& file, std::string_view text);

// Which keys of [model] were given, by their place in scenario_keys().
class GivenKeys {
 public:
  void add(std::string_view key);
  bool has(std::string_view key) const;

 private:
  std::bitset<256> bits_;
};

// What a model of this family has unless its keys say otherwise; sizes are 0.
ModelShape family_defaults(Family family);

// Fills in what follows from the keys that were given: kv_heads, head_dim, ffn, positions and
// max_seq. `base` is what the keys were laid over: family_defaults() or a named model.
void complete_model(ModelShape& shape, const ModelShape& base, const GivenKeys& given);

// Keys without which a model that was built up from its family cannot be computed.
std::vector<std::string_view> missing_model_keys(Family family, const GivenKeys& given);

}  // namespace stepsight
