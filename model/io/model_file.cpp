#include "model/io/model_file.h"

#include <fmt/format.h>

#include "model/io/builtin.h"
#include "model/io/hf_config.h"
#include "model/io/read_file.h"
#include "model/io/scenario_keys.h"

namespace stepsight {
namespace {

std::size_t index_of(std::string_view key) {
  return static_cast<std::size_t>(find_scenario_key(key) - scenario_keys().data());
}

std::string file_stem(std::string_view path) {
  const std::size_t slash = path.find_last_of("/:");
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

// Lays every key of the table that belongs to [model] over `scenario.model`.
GivenKeys read_keys(Table& table, Scenario& scenario, ErrorList& errors) {
  GivenKeys given;
  for (const ScenarioKey& key : scenario_keys()) {
    if (key.section != "model" || key.set == nullptr) continue;
    const Value* value = table.value(key.name);
    if (value == nullptr) continue;
    given.add(key.name);
    if (const auto setting = read_setting(key, *value, "", errors)) key.set(scenario, *setting);
  }
  return given;
}

}  // namespace

void GivenKeys::add(std::string_view key) {
  bits_.set(index_of(key));
}
bool GivenKeys::has(std::string_view key) const {
  return bits_.test(index_of(key));
}

ModelShape family_defaults(Family family) {
  ModelShape shape;
  shape.family = family;
  if (family == Family::resnet) {
    shape.hidden = 64;  // channels of the stem
    shape.heads = shape.kv_heads = shape.head_dim = shape.ffn = 1;
    shape.vocab = 1000;
    shape.image = 224;
    return shape;
  }
  if (family == Family::vit) {
    shape.bias = shape.fused_qkv = true;
    shape.vocab = 1000;
    shape.image = 224;
    shape.patch = 16;
    return shape;
  }
  if (family == Family::txl) {
    shape.bias = shape.tied_head = shape.fused_qkv = true;
    shape.memory = 192;
    shape.cutoff_1 = 19997;
    shape.cutoff_2 = 39997;
    shape.cutoff_3 = 199997;
    shape.dropout = 0.1;
    return shape;
  }
  if (family == Family::t5) {
    shape.tied_head = shape.rms_norm = true;
    shape.dropout = 0.1;
    return shape;
  }
  const bool llama = family == Family::llama;
  shape.tied_head = shape.bias = !llama;
  shape.gated_ffn = shape.rms_norm = shape.rotary = llama;
  shape.fused_qkv = family == Family::gpt;
  shape.mlm_head = family == Family::bert;
  shape.token_types = family == Family::bert ? 2 : 0;
  return shape;
}

void complete_model(ModelShape& shape, const ModelShape& base, const GivenKeys& given) {
  if (shape.family == Family::resnet) return;
  const bool resized = given.has("heads") || given.has("hidden");
  if (!given.has("kv_heads") && base.kv_heads == base.heads) shape.kv_heads = shape.heads;
  if (!given.has("head_dim") && resized && shape.heads > 0) {
    // 0 is what problems() reports as "heads must divide hidden".
    shape.head_dim = shape.hidden % shape.heads == 0 ? shape.hidden / shape.heads : 0;
  }
  const bool square_ffn = shape.family != Family::llama && base.ffn == 4 * base.hidden;
  if (!given.has("ffn") && square_ffn) shape.ffn = 4 * shape.hidden;
  const bool learned =
      (shape.family == Family::gpt || shape.family == Family::bert) && !shape.rotary;
  if (!given.has("positions") && base.positions == 0 && learned) shape.positions = shape.max_seq;
  if (!given.has("max_seq") && shape.positions > 0) shape.max_seq = shape.positions;
}

std::vector<std::string_view> missing_model_keys(Family family, const GivenKeys& given) {
  std::vector<std::string_view> missing;
  if (family == Family::resnet) {
    if (!given.has("layers")) missing.emplace_back("layers");
    return missing;
  }
  for (const std::string_view key : {"layers", "hidden", "heads", "vocab"}) {
    if (key == "vocab" && family == Family::vit) continue;
    if (!given.has(key)) missing.push_back(key);
  }
  if (family == Family::vit || family == Family::txl || family == Family::t5) return missing;
  const bool llama = family == Family::llama;
  if (llama && !given.has("ffn")) missing.emplace_back("ffn");
  const bool length = given.has("positions") || given.has("max_seq") || given.has("rotary");
  if (!llama && !length) missing.emplace_back("positions");
  return missing;
}

ModelShape read_model_text(const std::string& file, std::string_view text) {
  check_size(file, text, megabyte, "a model file");
  const Value root = parse_toml(file, text);
  ErrorList errors(file);
  Table table(root, errors);
  if (table.value("family") == nullptr) errors.add({1, 1}, "missing key 'family' in the file");
  // Twice: the first pass finds the family, whose defaults the keys are then laid over. A mistake
  // is noted once all the same.
  Scenario scenario;
  read_keys(table, scenario, errors);
  const ModelShape base = family_defaults(scenario.model.family);
  scenario.model = base;
  const GivenKeys given = read_keys(table, scenario, errors);
  const std::optional<std::int64_t> promised = table.optional_int("parameters", 1);
  table.finish();
  for (const std::string_view key : missing_model_keys(base.family, given)) {
    errors.add({1, 1}, fmt::format("missing key '{}' in the file", key));
  }
  errors.throw_if_any();

  ModelShape& shape = scenario.model;
  shape.name = file_stem(file);
  complete_model(shape, base, given);
  for (const std::string& problem : problems(shape)) {
    table.mistake(problem.substr(0, problem.find_first_of(" ,")), problem);
  }
  errors.throw_if_any();
  if (promised && *promised != parameter_count(shape)) {
    table.mistake("parameters",
                  fmt::format("'parameters' says {}, but these keys make a model of {}",
                              *promised,
                              parameter_count(shape)));
  }
  errors.throw_if_any();
  return shape;
}

ModelShape read_model(const std::string& name) {
  if (name.ends_with(".json")) return read_hf_config(name);
  const NamedFile file = find_named_file("models", name, ".toml");
  return read_model_text(file.path, file.text);
}

}  // namespace stepsight
