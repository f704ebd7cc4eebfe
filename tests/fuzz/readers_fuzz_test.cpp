// Hostile files: random damage to good ones must end in points whose numbers are finite and in
// range, or in a UserError; never in a crash, another exception, or memory without bound. The seeds
// are fixed, so a failure repeats; the failing text is printed.
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.h"
#include "model/io/builtin.h"
#include "model/io/csv.h"
#include "model/io/hf_config.h"
#include "model/io/runs_csv.h"
#include "model/io/scenario_file.h"
#include "model/scenario_rules.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

using Random = std::mt19937;

// Uniform in [0, below) by the generator's own bits: std::uniform_int_distribution differs between
// standard libraries, and a seed should mean the same text everywhere.
std::size_t pick(Random& random, std::size_t below) {
  return random() % below;
}

const std::vector<std::string_view> nasty{"nan",
                                          "inf",
                                          "-1",
                                          "0",
                                          "1e999",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "\"",
                                          "'",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          "[[",
                                          "=",
                                          ",",
                                          "\n",
                                          "\r\n",
                                          "\0",
                                          "\xff\xfe",
                                          "\xf0\x9f\x92\xa9",
                                          "#",
                                          "\\",
                                          "\"\"\"",
                                          "null",
                                          "true",
                                          "1979-05-27",
                                          "0x7f",
                                          "a.b.c",
                                          "1.5",
                                          "[1, 2, 3]",
                                          "\"llama2-7b\"",
                                          "gpus = [1, 2]",
                                          "heads = 7"};

// One to six edits: flip, insert, delete, duplicate or cut a piece, or put in something nasty.
std::string damage(Random& random, std::string text) {
  const std::size_t edits = 1 + pick(random, 6);
  for (std::size_t i = 0; i < edits; ++i) {
    const std::size_t at = pick(random, text.size() + 1);
    const std::size_t length = pick(random, 1 + std::min<std::size_t>(40, text.size() - at));
    switch (pick(random, 6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random() & 0xff);
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random() & 0x7f));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(pick(random, text.size() + 1), text.substr(at, length));
        break;
      case 4:
        text.insert(at, nasty[pick(random, nasty.size())]);
        break;
      default:
        text.replace(at, length, nasty[pick(random, nasty.size())]);
        break;
    }
  }
  return text;
}

struct Outcome {
  int read = 0;
  int refused = 0;
};

// Damages `text` `count` times; `read` must return or throw UserError with a message.
template <typename Read>
Outcome fuzz(const std::string& text, int count, unsigned seed, const Read& read) {
  Random random(seed);
  Outcome outcome;
  for (int i = 0; i < count; ++i) {
    const std::string damaged = damage(random, text);
    try {
      read(damaged);
      ++outcome.read;
    } catch (const UserError& error) {
      ++outcome.refused;
      if (std::string_view(error.what()).empty()) FAIL("an error without a message: " << damaged);
    } catch (const std::exception& error) {
      FAIL("not a UserError: " << error.what() << "\nfrom:\n" << damaged);
    }
  }
  return outcome;
}

void require_sound(const Scenario& s, const std::string& text) {
  const bool sound = violations(s).empty() && parameter_count(s.model) > 0 &&
                     s.training.batch >= 1 && s.training.seq >= 1 && s.training.accumulation >= 1 &&
                     s.cluster.gpus >= 1 && s.parallel.bucket_cap_MB > 0 &&
                     std::isfinite(s.parallel.bucket_cap_MB) && s.parallel.first_bucket_MB > 0 &&
                     std::isfinite(s.parallel.first_bucket_MB) && s.model.dropout >= 0 &&
                     s.model.dropout < 1;
  if (!sound) FAIL("an impossible scenario was let through:\n" << text);
}

void read_damaged_scenario(const std::string& text) {
  const ScenarioFile file = read_scenario_text("fuzz.toml", text);
  if (file.points.empty()) FAIL("no point and no error:\n" << text);
  // A damaged array may make very many points, which differ in little.
  const std::size_t step = 1 + file.points.size() / 50;
  for (std::size_t i = 0; i < file.points.size(); i += step) require_sound(file.points[i], text);
}

// Damage that always or never matters would test one path only.
void require_both(const Outcome& outcome) {
  CHECK(outcome.read > 10);
  CHECK(outcome.refused > 10);
}

}  // namespace

TEST_CASE("a damaged scenario gives sound points or a user error") {
  unsigned seed = 1;
  for (const std::string_view name : builtin_names("")) {
    const std::string text(*builtin_file(std::string(name) + ".toml"));
    require_both(fuzz(text, 1500, seed++, read_damaged_scenario));
  }
}

TEST_CASE("a damaged scenario of every key gives sound points or a user error") {
  const std::string text = R"([model]
family = "llama"
layers = 2
hidden = 96
heads = 4
kv_heads = 2
head_dim = 32
ffn = 200
vocab = 1000
max_seq = 77
dropout = 0.25
[training]
global_batch = 24
seq = 10
accumulation = 2
precision = ["amp-fp16", "bf16"]
gradient_dtype = "bf16"
[cluster]
gpu = "a"
gpus = [1, 2, 4]
link = "b"
[parallel]
bucket_cap_MB = 12.5
overlap = false
)";
  require_both(fuzz(text, 4000, 77, read_damaged_scenario));
}

TEST_CASE("a damaged config.json gives a sound model or a user error") {
  const std::string text = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "head_dim": 128,
  "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 8192,
  "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 8, "rope_scaling": {"factor": 8.0, "type": [1, 2, {"a": null}]},
  "tie_word_embeddings": false, "vocab_size": 128256
})";
  require_both(fuzz(text, 6000, 5, [](const std::string& damaged) {
    const ModelShape shape = read_hf_config_text("config.json", damaged);
    if (!problems(shape).empty() || parameter_count(shape) <= 0) {
      FAIL("an impossible model was let through:\n" << damaged);
    }
  }));
}

TEST_CASE("a damaged CSV of runs gives rows with a step time or a user error") {
  std::string text =
      "id,source,source_table,gpu,gpus,nodes,model,family,params,layers,hidden,heads,kv_heads,"
      "ffn_hidden,vocab,seq_len,micro_batch,global_batch,grad_accum,precision,dp,tp,pp,vpp,cp,ep,"
      "sharding,step_time_s,complete,flag,notes,std_family,std_gpu,std_compute,std_grad_bytes,"
      "std_dp,std_overlap,std_offload,std_recompute,std_flash,std_compile,std_intra,"
      "std_inter_gbps_per_node\n";
  for (int i = 0; i < 20; ++i) {
    text += "R" + std::to_string(i) +
            ",s,t,\"H200, SXM\",2,1,gpt2,\"a \"\"b\"\"\",124475904,12,768,12,12,3072,50304,1024,8,"
            "16,1,bf16,2,1,1,,1,1,none,0.0" +
            std::to_string(10 + i) + ",yes,,,gpt,h200-sxm,bf16,2,ddp,,,none,yes,no,nvswitch,\n";
  }
  require_both(fuzz(text, 3000, 9, [](const std::string& damaged) {
    for (const MeasuredRun& run : read_runs_text("runs.csv", damaged)) {
      const bool sound = std::isfinite(run.step_time_s) && run.step_time_s > 0 &&
                         run.layers.value_or(1) > 0 && run.gpus.value_or(1) > 0;
      if (!sound) FAIL("an impossible run was let through:\n" << damaged);
    }
  }));
}

TEST_CASE("random bytes are no scenario, no config.json and no runs") {
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    std::string text(pick(random, 3000) + 1, '\0');
    for (char& c : text) c = static_cast<char>(random() & 0xff);
    CHECK_THROWS_AS(read_scenario_text("x", text), UserError);
    CHECK_THROWS_AS(read_hf_config_text("x", text), UserError);
    CHECK_THROWS_AS(read_runs_text("x", text), UserError);
  }
}

TEST_CASE("a CSV splits into the same cells as a straightforward splitter says") {
  // Random tables written with quotes where needed must come back as they were.
  Random random(11);
  constexpr std::string_view letters = "ab,\"\n\r 1.-";
  for (int i = 0; i < 2000; ++i) {
    const std::size_t columns = 1 + pick(random, 5);
    std::vector<std::vector<std::string>> rows(1 + pick(random, 5));
    std::string text;
    for (auto& row : rows) {
      row.resize(columns);
      for (std::size_t c = 0; c < columns; ++c) {
        const std::size_t length = 1 + pick(random, 6);
        for (std::size_t k = 0; k < length; ++k) row[c] += letters[pick(random, letters.size())];
        std::string quoted = "\"";
        for (const char letter : row[c]) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
        const bool plain = row[c].find_first_of(",\"\n\r") == std::string::npos;
        text += (c > 0 ? "," : "") + (plain ? row[c] : quoted + "\"");
      }
      text += pick(random, 2) == 0 ? "\n" : "\r\n";
    }
    CsvReader reader("x.csv", text);
    for (const auto& row : rows) {
      REQUIRE(reader.next());
      const std::vector<std::string> got(reader.fields().begin(), reader.fields().end());
      REQUIRE(got == row);
    }
    REQUIRE_FALSE(reader.next());
  }
}
