#include "model/io/scenario_file.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "model/io/builtin.h"
#include "model/io/model_file.h"
#include "model/io/read_file.h"
#include "model/io/scenario_keys.h"
#include "model/io/topology_table.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

const std::string good = R"(title = "t"
[model]
name = "gpt2-124m"
[training]
batch = 4
seq = 512
[cluster]
gpu = "h200-sxm"
)";

ScenarioFile read(const std::string& text, std::vector<KeyFlag> flags = {}) {
  return read_scenario_text("s.toml", text, flags);
}

std::string message(const std::string& text, std::vector<KeyFlag> flags = {}) {
  return message_of([&] { read(text, std::move(flags)); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a scenario without arrays is one complete point") {
  const ScenarioFile file = read(good);
  REQUIRE(file.points.size() == 1);
  const Scenario& s = file.points.front();
  CHECK(file.axes.empty());
  CHECK(s.title == "t");
  CHECK(s.model.name == "gpt2-124m");
  CHECK(s.training.batch == 4);
  CHECK(s.training.seq == 512);
  CHECK(s.training.precision == Precision{Dtype::bf16, false});
  CHECK(s.training.optimizer == OptimizerKind::adamw);
  CHECK_FALSE(s.training.gradient_dtype);
  CHECK(s.cluster.gpu == "h200-sxm");
  CHECK(s.cluster.gpus == 1);
  CHECK(s.parallel.bucket_cap_MB == 25);
  CHECK(s.parallel.overlap);
}

TEST_CASE("every key of a scenario reaches its field") {
  const ScenarioFile file = read(R"([model]
family = "llama"
layers = 2
hidden = 96
heads = 4
kv_heads = 2
head_dim = 32
ffn = 200
vocab = 1000
positions = 64
token_types = 3
max_seq = 77
tied_head = true
bias = true
qkv_bias = true
gated_ffn = false
rms_norm = false
rotary = false
fused_qkv = true
fused_gate_up = true
dropout = 0.25
[training]
batch = 3
seq = 10
accumulation = 5
precision = "amp-fp16"
gradient_dtype = "bf16"
optimizer = "sgd-momentum"
compile = true
flash_attention = false
[cluster]
gpu = "a"
gpus = 6
link = "b"
[parallel]
strategy = "ddp"
bucket_cap_MB = 12.5
first_bucket_MB = 2
overlap = false
sync_each_micro_step = true
)");
  const Scenario& s = file.points.at(0);
  const ModelShape& m = s.model;
  CHECK(m.family == Family::llama);
  CHECK(std::vector<std::int64_t>{m.layers,
                                  m.hidden,
                                  m.heads,
                                  m.kv_heads,
                                  m.head_dim,
                                  m.ffn,
                                  m.vocab,
                                  m.positions,
                                  m.token_types,
                                  m.max_seq} ==
        std::vector<std::int64_t>{2, 96, 4, 2, 32, 200, 1000, 64, 3, 77});
  CHECK(std::vector<bool>{m.tied_head, m.bias, m.qkv_bias, m.fused_qkv, m.fused_gate_up} ==
        std::vector<bool>{true, true, true, true, true});
  CHECK(std::vector<bool>{m.gated_ffn, m.rms_norm, m.rotary} ==
        std::vector<bool>{false, false, false});
  CHECK(m.dropout == 0.25);
  CHECK(std::vector<std::int64_t>{s.training.batch, s.training.seq, s.training.accumulation} ==
        std::vector<std::int64_t>{3, 10, 5});
  CHECK(s.training.precision == Precision{Dtype::fp16, true});
  CHECK(s.training.gradient_dtype == Dtype::bf16);
  CHECK(s.training.optimizer == OptimizerKind::sgd_momentum);
  CHECK(s.training.compile);
  CHECK_FALSE(s.training.flash_attention);
  CHECK(s.cluster.gpus == 6);
  CHECK(s.cluster.link == "b");
  CHECK(s.parallel.bucket_cap_MB == 12.5);
  CHECK(s.parallel.first_bucket_MB == 2);
  CHECK_FALSE(s.parallel.overlap);
  CHECK(s.parallel.sync_each_micro_step);
}

TEST_CASE("arrays are the axes of a sweep, the first one slowest, in order of appearance") {
  const ScenarioFile file = read(R"([training]
batch = [1, 2, 3]
seq = 128
[model]
name = ["gpt2-124m", "bert-base"]
[cluster]
gpu = "h200-sxm"
)");
  CHECK(file.axes == std::vector<std::string>{"batch", "name"});
  CHECK(file.axis_values[1] == std::vector<std::string>{"gpt2-124m", "bert-base"});
  REQUIRE(file.points.size() == 6);
  CHECK(file.points[0].training.batch == 1);
  CHECK(file.points[1].training.batch == 1);
  CHECK(file.points[1].model.name == "bert-base");
  CHECK(file.points[5].training.batch == 3);
  CHECK(coordinates(file, 3) == std::vector<std::size_t>{1, 1});
  for (std::size_t i = 0; i < file.points.size(); ++i) {
    const std::size_t batch = coordinates(file, i)[0];
    CHECK(file.axis_values[0][batch] == std::to_string(file.points[i].training.batch));
  }
}

TEST_CASE("words and booleans may be axes too, and an array of one value is an axis") {
  const ScenarioFile file = read(replaced(
      good, "batch = 4", "precision = [\"bf16\", \"fp32\"]\ncompile = [false, true]\nbatch = [4]"));
  CHECK(file.axes == std::vector<std::string>{"precision", "compile", "batch"});
  CHECK(file.points.size() == 4);
  CHECK(file.points[3].training.compile);
  CHECK(file.points[3].training.precision.compute == Dtype::fp32);
}

TEST_CASE("single keys replace those of a named model and what follows from them") {
  const ScenarioFile file = read(replaced(good, "\"gpt2-124m\"", "\"gpt2-124m\"\nvocab = 50304"));
  CHECK(parameter_count(file.points[0].model) == 124475904);
  const ModelShape wide =
      read(replaced(good, "\"gpt2-124m\"", "\"gpt2-124m\"\nhidden = 1024\nheads = 16\nlayers = 24"))
          .points[0]
          .model;
  CHECK(wide.head_dim == 64);
  CHECK(wide.kv_heads == 16);
  CHECK(parameter_count(wide) == parameter_count(read_model("gpt2-355m")));
}

TEST_CASE("a model from its family equals the built-in model of those sizes") {
  const ScenarioFile file = read(R"([model]
family = "gpt"
layers = 12
hidden = 768
heads = 12
vocab = 50257
positions = 1024
[cluster]
gpu = "h200-sxm"
)");
  CHECK(parameter_count(file.points[0].model) == 124439808);
  CHECK(file.points[0].training.seq == 1024);
}

TEST_CASE("a global batch is shared out to the GPUs and kept as the sign of strong scaling") {
  const ScenarioFile file =
      read(replaced(good, "batch = 4", "global_batch = 32\naccumulation = 2") +
           "gpus = [1, 2, 16]\nlink = \"x\"\n");
  REQUIRE(file.points.size() == 3);
  CHECK(file.points[0].training.batch == 16);
  CHECK(file.points[1].training.batch == 8);
  CHECK(file.points[2].training.batch == 1);
  CHECK(file.points[2].training.global_batch == 32);
  CHECK(read(good).points[0].training.global_batch == 0);
}

TEST_CASE("a global batch that cannot be shared out is told at its place") {
  const std::string text =
      replaced(good, "batch = 4", "global_batch = 32") + "gpus = [1, 3]\nlink = \"x\"\n";
  CHECK(message(text) ==
        "s.toml:5:16: global_batch must be a multiple of gpus x accumulation: 32 sequences cannot "
        "be shared out to 3 x 1");
}

TEST_CASE("all mistakes of a scenario come at once with file, line and column") {
  CHECK(message(R"(title = 3
[model]
name = "gpt2-124n"
heads = 7
[training]
bach = 4
seq = -1
precision = "bf61"
[cluster]
gpus = 0
[costs]
price = 1
)") == "s.toml:1:9: 'title' must be a string that is not empty, got 3\n"
       "s.toml:3:8: no file `gpt2-124n` and nothing built in as `models/gpt2-124n.toml`\n"
       "  nearest known names: gpt2-124m gpt2-774m gpt2-1558m gpt2-355m\n"
       "s.toml:6:1: unknown key 'bach' in [training]; did you mean 'batch'?\n"
       "s.toml:7:7: 'seq' in [training] must be an integer from 1 to 1000000000, got -1\n"
       "s.toml:8:13: 'precision' in [training] must be one of fp32, tf32, bf16, fp16, amp-bf16, "
       "amp-fp16, master-bf16, master-fp16, summed-bf16, got \"bf61\"; did you mean 'bf16'?\n"
       "s.toml:9:2: missing key 'gpu' in [cluster]\n"
       "s.toml:10:8: 'gpus' in [cluster] must be an integer from 1 to 1000000, got 0\n"
       "s.toml:11:2: unknown table 'costs' in the file; did you mean 'cost'?");
}

TEST_CASE("rules between keys are told beside misread keys that they do not depend on") {
  const std::string text =
      replaced(good, "seq = 512", "seq = 4096\naccumulation = nan") + "gpus = 2\n";
  CHECK(message(text) ==
        "s.toml:6:7: seq must be at most 1024, the model's positions, got 4096\n"
        "s.toml:7:16: 'accumulation' in [training] must be an integer from 1 to 1000000, got nan\n"
        "s.toml:8:2: more than one GPU needs a link (key 'link' in [cluster], for example "
        "\"nvlink4-nvswitch\")");
}

TEST_CASE("heads that do not divide are told at the key that was given") {
  CHECK(message(replaced(good, "\"gpt2-124m\"", "\"gpt2-124m\"\nheads = 7")) ==
        "s.toml:4:9: heads must divide hidden: 768 / 7 leaves 5");
  CHECK_THAT(message(replaced(good, "\"gpt2-124m\"", "\"llama3-8b\"\nkv_heads = 5")),
             match::StartsWith("s.toml:4:12: kv_heads must divide heads: 32 / 5 leaves 2"));
}

TEST_CASE("a sweep names the mistaken element of an array, once") {
  const std::string text =
      replaced(good, "seq = 512", "seq = [128, 2048]") + "gpus = [1, 2, 4]\nlink = \"x\"\n";
  CHECK(message(text) == "s.toml:6:13: seq must be at most 1024, the model's positions, got 2048");
  CHECK_THAT(message(replaced(good, "batch = 4", "batch = [1, -2, 0]")),
             match::StartsWith("s.toml:5:13: 'batch' in [training] must be an integer from 1"));
  CHECK(message(replaced(good, "batch = 4", "batch = []")) ==
        "s.toml:5:9: 'batch' in [training] is an empty array");
}

TEST_CASE("a model that is missing or half said is told once, not as zeros") {
  CHECK_THAT(message("[cluster]\ngpu = \"h200-sxm\"\n"),
             match::StartsWith("s.toml:1:1: the model is missing"));
  CHECK(message("[model]\nfamily = \"llama\"\nlayers = 2\n[cluster]\ngpu = \"g\"\n") ==
        "s.toml:1:2: missing key 'ffn' in [model]\n"
        "s.toml:1:2: missing key 'heads' in [model]\n"
        "s.toml:1:2: missing key 'hidden' in [model]\n"
        "s.toml:1:2: missing key 'vocab' in [model]");
  CHECK_THAT(message(replaced(good, "\"gpt2-124m\"", "\"gpt2-124m\"\nfamily = \"gpt\"")),
             match::StartsWith("s.toml:4:10: 'family' cannot change"));
}

TEST_CASE("keys that exclude each other are told") {
  CHECK(message(replaced(good, "batch = 4", "batch = 4\nglobal_batch = 4")) ==
        "s.toml:6:16: 'batch' and 'global_batch' exclude each other: give one");
}

TEST_CASE("a loop-back link stands on one GPU and counts from 1 to 64") {
  CHECK(message(good + "link = \"loopback:4\"\n").empty());
  for (const char* link : {"loopback:", "loopback:0", "loopback:65", "loopback:x", "loopback:-1"}) {
    INFO(link);
    CHECK_THAT(message(good + "link = \"" + link + "\"\n"),
               match::ContainsSubstring("must be an integer from 1 to 64"));
  }
  CHECK_THAT(message(good + "link = \"loopback:1\"\ngpus = 2\n"),
             match::StartsWith("s.toml:9:8: a loop-back link"));
  CHECK_THAT(message(good + "gpus = 2\nlink = \"x\"\n[parallel]\nstrategy = \"none\"\n"),
             match::StartsWith("s.toml:12:12: strategy \"none\""));
}

TEST_CASE("arrays whose product is beyond the bound are refused without building it") {
  std::string thousand = "[1";
  for (int i = 2; i <= 1001; ++i) thousand += "," + std::to_string(i);
  thousand += "]";
  CHECK_THAT(
      message(replaced(
          replaced(good, "batch = 4", "batch = " + thousand), "seq = 512", "seq = " + thousand)),
      match::ContainsSubstring("over 1000000 scenarios"));
}

TEST_CASE("empty files and garbage are user errors with a place") {
  CHECK_THAT(message(""), match::StartsWith("s.toml:1:1: "));
  CHECK(message(std::string(10 * megabyte, '\x80')) ==
        "s.toml:1:1: is larger than 1 MB, the most a scenario may have");
  CHECK_THAT(message(std::string("\0\0\0", 3)), match::StartsWith("s.toml:1:1: "));
  CHECK_THAT(message_of([] { read_scenario("/no/such.toml"); }),
             match::StartsWith("/no/such.toml: cannot be read"));
  CHECK_THAT(message_of([] { read_scenario("/"); }), match::ContainsSubstring("is a directory"));
}

TEST_CASE("flags replace keys of the file, and their rivals") {
  const ScenarioFile file =
      read(good, {{"--gpus", "gpus", "1,2,4"}, {"--link", "link", "x"}, {"--batch", "batch", "8"}});
  CHECK(file.axes == std::vector<std::string>{"gpus"});
  REQUIRE(file.points.size() == 3);
  CHECK(file.points[2].cluster.gpus == 4);
  CHECK(file.points[2].training.batch == 8);
  const ScenarioFile strong = read(good, {{"--global-batch", "global_batch", "64"}});
  CHECK(strong.points[0].training.batch == 64);
}

TEST_CASE("flags alone make a scenario") {
  const std::vector<KeyFlag> flags{{"--model", "name", "llama2-7b"},
                                   {"--gpu", "gpu", "h200-sxm"},
                                   {"--seq", "seq", "2048"},
                                   {"--bucket-cap-MB", "bucket_cap_MB", "12.5"},
                                   {"--compile", "compile", "true"}};
  const ScenarioFile file = scenario_from_flags(flags);
  REQUIRE(file.points.size() == 1);
  CHECK(file.points[0].model.layers == 32);
  CHECK(file.points[0].parallel.bucket_cap_MB == 12.5);
  CHECK(file.points[0].training.compile);
}

TEST_CASE("mistakes in flags are told by the flag") {
  CHECK(message(good, {{"--gpus", "gpus", "1,two"}, {"--batch", "batch", ""}}) ==
        "--gpus: 'gpus' must be an integer from 1 to 1000000, got \"two\"\n"
        "--batch: 'batch' must be an integer from 1 to 1000000, got \"\"");
  CHECK(message(good, {{"--seq", "seq", "512,2048"}}) ==
        "--seq: seq must be at most 1024, the model's positions, got 2048");
  CHECK_THAT(message(good, {{"--model", "name", "gpt2"}}), match::StartsWith("--model: "));
}

TEST_CASE("a config.json is looked for beside the scenario file") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("stepsight_scenario_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "tiny");
  std::ofstream(folder / "tiny" / "config.json")
      << R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128,
          "vocab_size": 100})";
  std::ofstream(folder / "s.toml") << "[model]\nconfig = \"tiny/config.json\"\n[cluster]\n"
                                      "gpu = \"g\"\n";
  const ScenarioFile file = read_scenario((folder / "s.toml").string());
  std::filesystem::remove_all(folder);
  CHECK(file.points[0].model.hidden == 64);
  CHECK(file.points[0].training.seq == 128);
}

TEST_CASE("every scenario that is shipped can be read") {
  const std::vector<std::string_view> names = builtin_names("");
  CHECK(names.size() >= 4);
  for (const std::string_view name : names) {
    INFO(name);
    const std::string path = std::string(name) + ".toml";
    const ScenarioFile file = read_scenario_text(path, *builtin_file(path));
    CHECK_FALSE(file.title.empty());
    CHECK_FALSE(file.points.empty());
  }
}

TEST_CASE("the keys of a scenario have names of their own") {
  std::set<std::string_view> names;
  for (const ScenarioKey& key : scenario_keys()) {
    CHECK_FALSE(key.name.empty());
    CHECK(names.insert(key.name).second);
  }
}

TEST_CASE("the README of scenarios describes every key as the reader knows it") {
  const std::string readme =
      read_file(STEPSIGHT_SOURCE_DIR "/scenarios/README.md", megabyte, "a README");
  for (const ScenarioKey& key : scenario_keys()) {
    const std::string row = "| `" + std::string(key.name) + "` | " + describe_values(key) + " | " +
                            std::string(key.fallback) + " | " + std::string(key.meaning) + " |\n";
    INFO(row);
    CHECK(readme.find(row) != std::string::npos);
  }
  // No row about a key that does not exist.
  std::size_t rows = 0;
  for (std::size_t at = 0; (at = readme.find("\n| `", at)) != std::string::npos; ++at) ++rows;
  for (const std::string_view key : topology_keys) {
    INFO(key);
    CHECK(readme.find("\n| `" + std::string(key) + "` | ") != std::string::npos);
  }
  CHECK(rows == scenario_keys().size() + topology_keys.size());
}

TEST_CASE("a model file that promises another number of parameters is refused") {
  const std::string text =
      "family = \"gpt\"\nlayers = 1\nhidden = 8\nheads = 2\nvocab = 10\npositions = 4\n";
  const ModelShape shape = read_model_text("dir/tiny.toml", text);
  CHECK(shape.name == "tiny");
  // (10 + 4) x 8 embeddings, 12 h^2 + 13 h of the block, a last norm of 2 h.
  CHECK(parameter_count(shape) == 14 * 8 + 12 * 64 + 13 * 8 + 16);
  CHECK(message_of([&] { read_model_text("tiny.toml", text + "parameters = 1000\n"); }).empty());
  CHECK(message_of([&] { read_model_text("tiny.toml", text + "parameters = 999\n"); }) ==
        "tiny.toml:7:14: 'parameters' says 999, but these keys make a model of 1000");
  CHECK(message_of([&] { read_model_text("tiny.toml", text + "lairs = 1\n"); }) ==
        "tiny.toml:7:1: unknown key 'lairs' in the file; did you mean 'layers'?");
}
