// Questions that people ask before they buy or rent, each answered by one command over a scenario that
// ships, and the answer held against what somebody measured. Sources stand at the cases.
#include <fstream>
#include <map>
#include <utility>

#include "model/io/model_error_file.h"
#include "model/io/scenario_file.h"
#include "simulate/irregular_step.h"
#include "simulate/marginal.h"
#include "simulate/plan.h"
#include "simulate/study.h"
#include "tests/validation/cases.h"
#include "tests/validation/points.h"

namespace stepsight {
namespace {

ScenarioFile shipped(const std::string& name, std::vector<KeyFlag> flags = {}) {
  ScenarioFile file = read_scenario(STEPSIGHT_SOURCE_DIR "/scenarios/" + name, flags);
  // As the commands do: another kind of card among the GPUs becomes how much longer it computes.
  for (Scenario& s : file.points) {
    if (s.irregular.slowest_gpu.empty()) continue;
    s.irregular.slow_factor *= card_slowdown(s, profile_named(s.cluster.gpu),
                                             profile_named(s.irregular.slowest_gpu));
  }
  return file;
}

std::vector<StudyPoint> answers(const ScenarioFile& file) {
  return study(file.points, [](const std::string& name) -> const GpuProfile& {
    return profile_named(name);
  }, read_model_error());
}

// stepsight predict second_4090.toml
// Lambda's fp16 benchmark, one RTX 4090 and two: ResNet-50 1.90 times, BERT-large 1.49, BERT-base 1.82
// (lambdal/deeplearning-benchmark); nobody saw more than 2 or less than 1.3 with these models.
TEST_CASE("a second RTX 4090 brings most to ResNet-50 and least to BERT-large") {
  const std::vector<StudyPoint> points = answers(shipped("second_4090.toml"));
  REQUIRE(points.size() == 6);
  const auto speedup = [&](std::size_t model) { return points[2 * model + 1].weak.scaling.speedup; };
  const double resnet = speedup(0), bert = speedup(2);
  CHECK(resnet > bert);
  CHECK(resnet < 2.001);
  CHECK(bert > 1.1);
  CHECK(bert < 1.8);
  for (const StudyPoint& p : points) CHECK(p.money.has_value());
}

// stepsight predict second_3090.toml
// huggingface/transformers #9371: GPT-2 124M in fp32, batch 4 x 1024, two TITAN RTX with NVLink do 2.02
// times the work of one, without P2P 1.56 times: the bridge is worth 30 %.
TEST_CASE("a bridge between two RTX 3090 is worth tens of percent to GPT-2 in fp32") {
  const ScenarioFile file = shipped("second_3090.toml");
  const std::vector<StudyPoint> points = answers(file);
  REQUIRE(points.size() == 2);
  CHECK(points[1].weak.scaling.speedup > 1.8);
  const double gain = points[0].prediction.step.value / points[1].prediction.step.value - 1;
  CHECK(gain == Approx(0.30).margin(0.15));
  // Without a bridge 1.56 times, with it 2.02: within what the answer leaves open, but for half a percent.
  CHECK(points[0].weak.speedup.p5 < 1.56);
  CHECK(points[0].weak.speedup.p95 > 1.56);
  CHECK(points[1].weak.speedup.p95 > 0.95 * 2.02);
  // And worth its price: a million tokens are cheaper with it.
  CHECK(points[1].money->own->per_million.value < points[0].money->own->per_million.value);
  CHECK(points[1].money->purchase.bridges > 0);
  CHECK(points[0].money->purchase.bridges == 0);
}

// stepsight predict h100_or_a100.toml
// MosaicML's llm-foundry tables: MPT-7B at 2048 tokens, 10,643 tokens/s on each H100 and 4,641 on each
// A100, 2.29 times. At 1.6 to 1.7 times the rent H100 is a third cheaper a token.
TEST_CASE("an H100 does about twice the work of an A100, and is cheaper a token below that price") {
  const ScenarioFile file = shipped("h100_or_a100.toml");
  const std::vector<StudyPoint> points = answers(file);
  REQUIRE(points.size() == 4);  // H100 on 8 and 16, A100 on 8 and 16
  const double ratio = points[0].prediction.tokens_per_s / points[2].prediction.tokens_per_s;
  CHECK(ratio == Approx(2.29).epsilon(0.15));
  // 8 H100 against 16 A100: about as fast.
  const double swap = points[0].prediction.tokens_per_s / points[3].prediction.tokens_per_s;
  CHECK(swap > 0.85);
  CHECK(swap < 1.4);
  const std::vector<Exchanged> other =
      exchanged(points, {file.axes, [&] {
                           static std::vector<std::vector<std::string>> at;
                           at.clear();
                           for (std::size_t i = 0; i < file.points.size(); ++i) {
                             std::vector<std::string> values;
                             const auto place = coordinates(file, i);
                             for (std::size_t a = 0; a < place.size(); ++a) {
                               values.push_back(file.axis_values[a][place[a]]);
                             }
                             at.push_back(values);
                           }
                           return std::span<const std::vector<std::string>>(at);
                         }()},
                "gpu");
  REQUIRE(other.size() == 2);
  // At the list's rents the ratio of costs is the ratio of rents over that of throughputs.
  const double rents = *points[2].scenario.cost.rent_per_gpu_hour /
                       *points[0].scenario.cost.rent_per_gpu_hour;
  CHECK(*other[0].cost_ratio == Approx(rents / other[0].throughput_ratio).epsilon(1e-9));
  CHECK(*other[0].worth_per_hour ==
        Approx(points[0].money->rent->per_hour / ratio).epsilon(1e-9));
}

// stepsight predict network_100_or_400.toml
TEST_CASE("each step up in the network brings less than the one before") {
  const std::vector<StudyPoint> points = answers(shipped("network_100_or_400.toml"));
  REQUIRE(points.size() == 4);  // 25, 100, 200, 400 Gb/s
  std::vector<double> rate;
  for (const StudyPoint& p : points) rate.push_back(p.prediction.tokens_per_s);
  CHECK(rate[0] < rate[1]);
  CHECK(rate[1] <= rate[2]);
  CHECK(rate[2] <= rate[3]);
  CHECK(rate[1] / rate[0] > rate[2] / rate[1]);
  CHECK(rate[2] / rate[1] >= rate[3] / rate[2]);
  CHECK(points[3].money->purchase.network == Approx(3.1 * points[1].money->purchase.network).epsilon(1e-9));
}

// stepsight predict next_generation.toml --seq 8192
// stas00's table of Llama-3.1 8B on eight cards: a B200 node is 1.19 times an H200 node at 8k tokens,
// 2.03 times at 256k.
TEST_CASE("a B200 is faster than an H200 by one to two and a half times, and worth so much more an hour") {
  const std::vector<StudyPoint> points = answers(shipped("next_generation.toml"));
  REQUIRE(points.size() == 2);
  const double ratio = points[1].prediction.tokens_per_s / points[0].prediction.tokens_per_s;
  CHECK(ratio > 1.1);
  CHECK(ratio < 2.6);
}

// stepsight predict --model gpt2-1558m --gpu h100-sxm --gpus 8 ... --tokens ... --rent-per-gpu-hour 3.5
// karpathy/llm.c discussion 677: 1.6B on eight H100 for 24 hours and 672 dollars, at about half of the
// peak.
TEST_CASE("24 hours of eight H100 at 3.50 an hour are 672 dollars") {
  const std::vector<KeyFlag> flags{
      {"--model", "name", "gpt2-1558m"}, {"--gpu", "gpu", "h100-sxm"}, {"--gpus", "gpus", "8"},
      {"--link", "link", "nvlink4-nvswitch"}, {"--batch", "batch", "16"}, {"--seq", "seq", "1024"},
      {"--accumulation", "accumulation", "8"}, {"--strategy", "strategy", "zero1"},
      {"--vocab", "vocab", "50304"}, {"--compile", "compile", "true"},
      {"--rent-per-gpu-hour", "rent_per_gpu_hour", "3.5"}, {"--tokens", "tokens", "33e9"}};
  const StudyPoint p = answers(scenario_from_flags(flags)).at(0);
  CHECK(p.prediction.mfu > 0.35);
  CHECK(p.prediction.mfu < 0.65);
  const double hours = p.money->run_s->value / 3600;
  CHECK(p.money->rent->per_run->value / hours == Approx(28).epsilon(1e-9));
}

// stepsight predict --model tinyllama ... --tokens 3e12
// jzhang38/TinyLlama: 1.1B on 16 A100-40, 24k tokens a second on each: 3T tokens in 90 days.
TEST_CASE("3T tokens of TinyLlama on 16 A100 take about 90 days") {
  const ScenarioFile file = read_scenario_text("tinyllama.toml", tinyllama + R"(
[run]
tokens = 3e12
gpu_mtbf_hours = 50000
checkpoint_s = 60
restart_s = 600
)");
  const StudyPoint p = answers(file).at(0);
  const double days = p.money->run_s->value / 86400;
  CHECK(days > 60);
  CHECK(days < 130);
  CHECK(p.money->goodput.share > 0.98);
}

// stepsight predict llama3_405b.toml
// arXiv:2407.21783: 16,384 H100 at 38 to 43 % of the peak, more than 90 % of the time kept training.
TEST_CASE("405B on 16,384 H100 keeps nine tenths of its time, and takes a hundred days for 15.6T tokens") {
  const StudyPoint p = answers(shipped("llama3_405b.toml")).at(0);
  CHECK(p.prediction.mfu > 0.25);
  CHECK(p.prediction.mfu < 0.6);
  CHECK(p.money->goodput.share > 0.9);
  const double days = p.money->run_s->value / 86400;
  CHECK(days > 40);
  CHECK(days < 130);
}

// stepsight predict failures.toml
TEST_CASE("more cards keep less of their time, and faster checkpoints keep more") {
  const std::vector<StudyPoint> points = answers(shipped("failures.toml"));
  REQUIRE(points.size() == 6);  // 512, 4096, 16384 GPUs; 10 and 300 s
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(points[2 * i].money->goodput.share > points[2 * i + 1].money->goodput.share);
    if (i == 0) continue;
    for (std::size_t c = 0; c < 2; ++c) {
      CHECK(points[2 * i + c].money->goodput.share < points[2 * (i - 1) + c].money->goodput.share);
    }
  }
}

// stepsight predict rented_4090s.toml
// The gain of gradient accumulation where cards reach each other through host memory: txl-large at 2.00
// times on two RTX 4090 with it, BERT-large at 1.49 without (Lambda).
TEST_CASE("on rented RTX 4090s without P2P accumulation decides whether four pay") {
  const ScenarioFile file = shipped("rented_4090s.toml");
  const std::vector<StudyPoint> points = answers(file);
  std::map<std::pair<std::int64_t, std::int64_t>, double> efficiency;
  for (const StudyPoint& p : points) {
    efficiency[{p.scenario.training.accumulation, p.scenario.cluster.gpus}] = p.weak.scaling.efficiency;
  }
  CHECK(efficiency.at({1, 4}) < 0.7);
  CHECK(efficiency.at({8, 4}) > efficiency.at({1, 4}) + 0.15);
  CHECK(efficiency.at({8, 2}) > efficiency.at({1, 2}) + 0.1);
}

// stepsight predict finetune_7b.toml
TEST_CASE("a 7B model is trained on two cards of 48 GB when it is sharded, and not otherwise") {
  const std::vector<StudyPoint> points = answers(shipped("finetune_7b.toml"));
  for (const StudyPoint& p : points) {
    INFO(p.scenario.cluster.link);
    CHECK(p.prediction.memory.fits == (p.scenario.parallel.strategy == Strategy::fsdp));
  }
}

// stepsight predict mixture.toml
TEST_CASE("a mixture of 47 billion parameters fits on eight H200 when it is sharded") {
  const std::vector<StudyPoint> points = answers(shipped("mixture.toml"));
  REQUIRE(points.size() == 3);
  CHECK(points.back().prediction.memory.fits);
  CHECK(points.back().weak.scaling.efficiency > 0.5);
}

// stepsight predict pcie_lanes.toml
// P6. Puget Systems (2017, two GTX 1070; 2018, four Titan V, x16 against x8): little for convolution nets.
// What a slot costs follows from the bytes: 51 MB a step of ResNet-50 at 64 images, 710 MB of GPT-2 355M at
// eight sequences of 128 tokens.
TEST_CASE("half the lanes cost ResNet-50 a few percent, a quarter of them half of GPT-2 355M's rate") {
  const ScenarioFile file = shipped("pcie_lanes.toml");
  const std::vector<StudyPoint> points = answers(file);
  REQUIRE(points.size() == 12);  // model, batch, link: 16, 8, 4 lanes
  const auto slower = [&](std::size_t group, std::size_t lanes) {
    return points[3 * group + lanes].prediction.step.value / points[3 * group].prediction.step.value - 1;
  };
  const std::size_t resnet_64 = 0, gpt2_8 = 3;
  CHECK(slower(resnet_64, 1) > 0);
  CHECK(slower(resnet_64, 1) < 0.06);
  CHECK(slower(resnet_64, 2) < 0.15);
  CHECK(slower(gpt2_8, 1) == Approx(0.33).margin(0.12));
  CHECK(slower(gpt2_8, 2) == Approx(1).margin(0.35));
  // Through host memory: a quarter of the lanes is not four times the time, since the copies there are not
  // the slots' at 16 lanes.
  const Prediction& narrow = points[3 * gpt2_8 + 2].prediction;
  const Prediction& wide = points[3 * gpt2_8].prediction;
  CHECK(narrow.communication_s > 1.8 * wide.communication_s);
  CHECK(narrow.communication_s < 4 * wide.communication_s);
}

// stepsight predict h100_forms.toml
// P8. NVSwitch is what an SXM card is rented for; cards in slots make up for part of it by accumulation.
TEST_CASE("sharded training keeps nine tenths on SXM and less than half in slots, whatever the card") {
  const std::vector<StudyPoint> points = answers(shipped("h100_forms.toml"));
  REQUIRE(points.size() == 6);  // accumulation 1 and 8; SXM, NVL, PCIe
  for (std::size_t a = 0; a < 2; ++a) {
    const StudyPoint& sxm = points[3 * a];
    CHECK(sxm.weak.scaling.efficiency > 0.88);
    for (std::size_t form = 1; form < 3; ++form) {
      CHECK(points[3 * a + form].weak.scaling.efficiency < 0.55);
      CHECK(sxm.prediction.tokens_per_s > 2 * points[3 * a + form].prediction.tokens_per_s);
    }
  }
  CHECK(points[4].prediction.tokens_per_s > 1.25 * points[1].prediction.tokens_per_s);
  CHECK(points[5].prediction.tokens_per_s > 1.25 * points[2].prediction.tokens_per_s);
}

// stepsight predict rented_nodes.toml
// P8, the lottery. NVIDIA/cosmos-framework #161, two rented 8 x A100-80 nodes, sharded within and replicated
// between: 110.2 s a step and 430.6 s with four micro-steps (3.91 times: each one still sums over the
// network); 22.2 s where another rental of the same type had a faster network (4.96 times).
TEST_CASE("where every micro-step sums over the network four of them take four times as long") {
  const auto steps = [](const char* accumulation, const char* each) {
    const std::vector<StudyPoint> points =
        answers(shipped("rented_nodes.toml", {{"--accumulation", "accumulation", accumulation},
                                              {"--sync", "sync_each_micro_step", each}}));
    REQUIRE(points.size() == 2);  // 10 and 50 Gb/s
    return std::pair{points[0].prediction.step.value, points[1].prediction.step.value};
  };
  const auto [slow, fast] = steps("1", "true");
  const double four = steps("4", "true").first;
  CHECK(four / slow == Approx(430.6 / 110.2).epsilon(0.05));
  CHECK(steps("4", "false").first < 0.5 * four);
  CHECK(slow / fast == Approx(110.2 / 22.2).epsilon(0.3));
}

// stepsight predict mixed_cards.toml
// P10. All wait for the slowest: a group is as fast as its slowest card in every place.
TEST_CASE("three RTX 4090 and an RTX 3090 are as fast as four RTX 3090") {
  const std::vector<StudyPoint> points = answers(shipped("mixed_cards.toml"));
  REQUIRE(points.size() == 2);
  const std::vector<StudyPoint> old = answers(shipped("mixed_cards.toml", {{"--gpu", "gpu", "rtx-3090"}}));
  CHECK(points[1].prediction.tokens_per_s ==
        Approx(old[1].prediction.tokens_per_s).epsilon(0.05));
  CHECK(points[1].prediction.tokens_per_s < 0.6 * points[0].prediction.tokens_per_s);
}

// stepsight predict office_network.toml
// P10. facebookresearch/detectron2 #4730, two desktops: 44 million parameters in fp32 are 178 MB, 1.4 to
// 1.5 s a step at 1 Gb/s.
TEST_CASE("over 1 Gb/s two desktops wait a second and a half a step, and do not pay over 10 Gb/s either") {
  const std::vector<StudyPoint> points = answers(shipped("office_network.toml"));
  REQUIRE(points.size() == 2);
  CHECK(points[0].prediction.message_bytes == Approx(178e6).epsilon(0.01));
  CHECK(points[0].prediction.communication_s == Approx(1.45).epsilon(0.15));
  CHECK(points[0].weak.scaling.speedup < 0.2);
  CHECK(points[1].weak.scaling.speedup < 1);
}

// stepsight predict second_server.toml
// P11. pytorch/pytorch #17159, BERT, samples/s of each GPU: 122 on one, 110 on eight, 80 on two machines of
// eight: 0.66 of one GPU's, 0.73 of one machine's. (Card, batch and link are not given there: taken are
// V100, 32 and 25 Gb/s.)
TEST_CASE("a second server over 25 Gb/s brings about a half more, and the network is the reason") {
  const std::vector<StudyPoint> points = answers(shipped("second_server.toml"));
  REQUIRE(points.size() == 3);
  const ScalingPoint& one = points[1].weak;
  const ScalingPoint& two = points[2].weak;
  CHECK(two.scaling.efficiency / one.scaling.efficiency == Approx(80.0 / 110.0).epsilon(0.1));
  CHECK(two.efficiency.p5 < 80.0 / 122.0);
  CHECK(two.efficiency.p95 > 80.0 / 122.0);
  CHECK(two.efficiency.p95 - two.efficiency.p5 < 0.6);
  const Attribution& why = points[2].prediction.attribution;
  CHECK(why.exposed + why.slow_down > 0.8 * (points[2].prediction.step.value - why.alone));
}

}  // namespace
}  // namespace stepsight
