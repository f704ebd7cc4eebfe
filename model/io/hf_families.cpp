#include "model/io/hf_families.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/convnet.h"
#include "model/t5.h"

namespace stepsight {
namespace {

// Names of keys for layers, width, heads and feed-forward width.
struct Names {
  const char *layers, *hidden, *heads, *ffn;
};

void read_sizes(Table& table, const Names& names, ModelShape& shape) {
  shape.layers = table.require_int(names.layers, 1, 10000);
  shape.hidden = table.require_int(names.hidden, 1, 1000000);
  shape.heads = shape.kv_heads = table.require_int(names.heads, 1, 100000);
  shape.ffn = table.require_int(names.ffn, 1, 10000000);
  shape.head_dim = shape.hidden % shape.heads == 0 ? shape.hidden / shape.heads : 0;
}

// Classes are counted by their names; transformers' own default is two.
std::int64_t classes(Table& table) {
  const Value* names = table.value("id2label");
  if (names != nullptr) {
    if (const auto* members = std::get_if<Members>(&names->data)) {
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(members->size()));
    }
    table.mistake("id2label", "id2label must be a table of the classes' names");
  }
  return table.optional_int("num_labels", 1, 100000000).value_or(2);
}

void must_be(Table& table, const char* key, std::int64_t value, const char* why) {
  const std::int64_t found = table.optional_int(key, 0).value_or(value);
  if (found != value) table.mistake(key, fmt::format("{} must be {}: {}", key, value, why));
}

}  // namespace

void read_t5(Table& table, ModelShape& shape) {
  read_sizes(table, {"num_layers", "d_model", "num_heads", "d_ff"}, shape);
  shape.head_dim = table.require_int("d_kv", 1, 100000);
  shape.vocab = table.require_int("vocab_size", 1, 100000000);
  must_be(table, "num_decoder_layers", shape.layers, "as many layers in decoder and encoder");
  must_be(
      table, "relative_attention_num_buckets", relative_buckets, "other tables are not modelled");
  const std::string kind = table.optional_string("feed_forward_proj").value_or("relu");
  shape.gated_ffn = kind.starts_with("gated-");
  shape.dropout = table.optional_number("dropout_rate", 0, 0.99).value_or(0.1);
  shape.tied_head = table.optional_bool("tie_word_embeddings").value_or(true);
}

void read_vit(Table& table, ModelShape& shape) {
  read_sizes(table,
             {"num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size"},
             shape);
  shape.image = table.optional_int("image_size", 1, 100000).value_or(224);
  shape.patch = table.optional_int("patch_size", 1, 100000).value_or(16);
  shape.fused_qkv = false;  // three projections
  shape.vocab = classes(table);
  shape.dropout = table.optional_number("hidden_dropout_prob", 0, 0.99).value_or(0);
  must_be(table, "num_channels", 3, "images in three colours");
}

void read_resnet(Table& table, ModelShape& shape) {
  const std::vector<double> depths = table.numbers("depths", 1, 1000);
  const std::string kind = table.optional_string("layer_type").value_or("bottleneck");
  for (const std::int64_t layers : {18, 34, 50, 101, 152}) {
    const auto plan = convnet_plan(layers);
    const bool same =
        std::equal(depths.begin(),
                   depths.end(),
                   plan->depth.begin(),
                   plan->depth.end(),
                   [](double a, std::int64_t b) { return a == static_cast<double>(b); });
    if (same && plan->bottleneck == (kind == "bottleneck")) shape.layers = layers;
  }
  if (shape.layers == 0) {
    table.mistake("depths",
                  "depths and layer_type must be those of resnet 18, 34, 50, 101 or 152, such as "
                  "[3, 4, 6, 3] and \"bottleneck\"");
  }
  const std::vector<double> widths = table.numbers("hidden_sizes", 1, 1000000);
  const double first = kind == "bottleneck" ? 256 : 64;
  const std::array<double, 4> usual{first, 2 * first, 4 * first, 8 * first};
  if (!std::ranges::equal(widths, usual)) {
    table.mistake("hidden_sizes",
                  fmt::format("hidden_sizes must be [{}, {}, {}, {}] for {} layers",
                              usual[0],
                              usual[1],
                              usual[2],
                              usual[3],
                              kind));
  }
  must_be(table, "embedding_size", 64, "channels of the stem");
  must_be(table, "num_channels", 3, "images in three colours");
  shape.vocab = classes(table);
}

void read_transformer_xl(Table& table, ModelShape& shape) {
  read_sizes(table, {"n_layer", "d_model", "n_head", "d_inner"}, shape);
  shape.head_dim = table.require_int("d_head", 1, 100000);
  shape.vocab = table.require_int("vocab_size", 1, 100000000);
  shape.memory = table.require_int("mem_len", 0, 10000000);
  shape.dropout = table.optional_number("dropout", 0, 0.99).value_or(0.1);
  shape.attention_dropout = table.optional_number("dropatt", 0, 0.99).value_or(0);
  shape.div_val = table.optional_int("div_val", 1, 1024).value_or(1);
  must_be(table, "d_embed", shape.hidden, "embeddings as wide as the model");
  const std::vector<double> cutoffs = table.numbers("cutoffs", 1, 100000000);
  if (cutoffs.size() != 3) {
    table.mistake("cutoffs", "cutoffs must be three ranks, such as [20000, 40000, 200000]");
    return;
  }
  shape.cutoff_1 = static_cast<std::int64_t>(cutoffs[0]);
  shape.cutoff_2 = static_cast<std::int64_t>(cutoffs[1]);
  shape.cutoff_3 = static_cast<std::int64_t>(cutoffs[2]);
}

}  // namespace stepsight
