// Puzzles that people brought to public trackers and blogs, as one table: what was measured or what
// a maintainer said is right, and what stepsight says to the same question. Where the two differ
// the row says which physics is missing; it must differ indeed, so that the list stays true.
//
// Not asked, because the thread lacks a fact that decides (model, batch or NIC rate): YOLOv5 on
// eight 2080 Ti (ultralytics/yolov5 1860: size and loader unknown), all-to-all under a patched
// driver (tinygrad/open-gpu-kernel-modules 17: no figures), HSDP on rented A100
// (NVIDIA/cosmos-framework 161: model unknown), 176 B on 384 V100 (deepspeedai/DeepSpeed 2928:
// batch unknown).
#include <algorithm>
#include <map>

#include "model/errors.h"
#include "model/io/link_file.h"
#include "model/io/model_file.h"
#include "model/io/nccl_log.h"
#include "model/io/profile_file.h"
#include "model/io/topo_matrix.h"
#include "model/link_verdict.h"
#include "model/transport.h"
#include "simulate/predict.h"
#include "tests/catch2.h"
#include "tests/validation/cases.h"

using namespace stepsight;

namespace {

double seconds(const std::string& link,
               std::int64_t ranks,
               double bytes,
               std::int64_t nodes = 1,
               CollectiveKind kind = CollectiveKind::all_reduce) {
  const auto found = link_curve(*find_link(link, ""), {kind, ranks, nodes});
  REQUIRE(found);
  return cost(found->curve, Bytes{bytes}).time.value;
}

double gather(const std::string& link, std::int64_t ranks, double bytes, std::int64_t nodes = 1) {
  return seconds(link, ranks, bytes, nodes, CollectiveKind::all_gather);
}

double busbw(const std::string& link,
             std::int64_t ranks,
             std::int64_t nodes = 1,
             double bytes = 1e9) {
  return bytes * traffic_factor(CollectiveKind::all_reduce, ranks) /
         seconds(link, ranks, bytes, nodes) / 1e9;
}

// Measured over expected.
double ratio(const char* link, double GBps, std::int64_t ranks, std::int64_t nodes = 1) {
  const std::vector<MeasuredBusbw> points{{1e9, GBps}};
  return judge_link(*find_link(link, ""), {CollectiveKind::all_reduce, ranks, nodes}, points, {})
      .ratio;
}

// 1 when the first cause holds the words.
double first_cause_says(
    const char* link, double GBps, std::int64_t ranks, std::int64_t nodes, std::string_view words) {
  const std::vector<MeasuredBusbw> points{{1e9, GBps}};
  const LinkVerdict v =
      judge_link(*find_link(link, ""), {CollectiveKind::all_reduce, ranks, nodes}, points, {});
  return !v.causes.empty() && v.causes.front().find(words) != std::string::npos ? 1 : 0;
}

double copy_rate(const char* link, std::int64_t gpus, std::uint32_t to) {
  const Topology t = machine_topology(*parse_link_class(link), gpus);
  return Transports(t, static_cast<std::uint32_t>(gpus)).between(0, to).GBps;
}

double step(Scenario s, std::int64_t gpus, const std::string& link, std::int64_t nodes = 1) {
  s.cluster.gpus = gpus;
  s.cluster.nodes = nodes;
  if (gpus > 1) {
    s.cluster.link = link;
    s.cluster.facts = find_link(link, "");
  }
  return predict_step(s, read_profile(s.cluster.gpu)).value;
}

// N cards against one, each with its own batch.
double speedup(const Scenario& s,
               std::int64_t gpus,
               const std::string& link,
               std::int64_t nodes = 1) {
  return static_cast<double>(gpus) * step(s, 1, "") / step(s, gpus, link, nodes);
}

Scenario gpt2_titan() {
  Scenario s;
  s.model = read_model("gpt2-124m");
  s.training.batch = 4;
  s.training.seq = 1024;
  s.training.precision.compute = Dtype::fp32;
  s.training.flash_attention = false;
  s.cluster.gpu = "titan-rtx";
  return s;
}

// 122 sequences a second on one V100 in fp32: BERT-base with 128 tokens.
Scenario bert_v100() {
  Scenario s;
  s.model = read_model("bert-base");
  s.training.batch = 32;
  s.training.seq = 128;
  s.training.precision.compute = Dtype::fp32;
  s.training.flash_attention = false;
  s.cluster.gpu = "v100-sxm-16";
  return s;
}

// A step in which nothing hides: as the thread's own sums count.
double plain_speedup(double one_card_s, double exchange_s, double cards) {
  return cards * one_card_s / (one_card_s + exchange_s);
}

double log_is_refused() {
  const std::string rank =
      "# nThread 1 nGpus 1\n# Rank 0 Pid 1 on a device 0 [0x1] X\n"
      "# size count type redop root time algbw busbw #wrong\n"
      "  1048576 262144 float sum -1 10.0 104.8 0.00 0\n";
  try {
    read_collective_log("all_reduce.log", rank + rank);
  } catch (const UserError& error) {
    return std::string(error.what()).find("copies of one rank") != std::string::npos ? 1 : 0;
  }
  return 0;
}

double every_pair_sys() {
  std::string text;
  for (int i = 0; i < 8; ++i) text += "\tGPU" + std::to_string(i);
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (int i = 0; i < 8; ++i) {
    text += "GPU" + std::to_string(i);
    for (int j = 0; j < 8; ++j) text += i == j ? "\t X " : "\tSYS";
    text += "\t" + std::to_string(8 * i) + "-" + std::to_string(8 * i + 7) + "\t" +
            std::to_string(i) + "\n";
  }
  return best_rings(topo_matrix_topology("t", text, *parse_link_class("pcie4-x16-p2p")), 8).GBps;
}

// Ranges are the thread's where it gives one; else 15 % around its number, more for what it says in
// words ("about", "good").
const Case rows[] = {
    // One box, no NVLink.
    {"cortwave, multi-gpu",
     "3.4 GB between two 4090 at 4 GB/s: about 0.85 s",
     0.72,
     0.98,
     [] { return seconds("pcie4-x16-nop2p@4", 2, 3.4e9); },
     nullptr},
    {"cortwave, multi-gpu",
     "4 GB/s is under what such a pair should do",
     0,
     0.6,
     [] { return ratio("pcie4-x16-nop2p", 4, 2); },
     nullptr},
    {"ahjavid, technical notes",
     "27 MB at 12 GB/s: 2 to 3 ms",
     2e-3,
     3e-3,
     [] { return seconds("pcie4-x16-nop2p@12", 2, 27.5e6); },
     nullptr},
    {"Lightning-AI/litgpt 1472",
     "two gathers of 14.4 GB over eight A10G at 0.84 GB/s: 30 s",
     27,
     33,
     [] { return 2 * gather("pcie4-x16-nop2p@0.84", 8, 14.4e9); },
     nullptr},
    {"Lightning-AI/litgpt 1472",
     "the same at a healthy 2.5 GB/s: 10 s",
     9,
     11,
     [] { return 2 * gather("pcie4-x16-nop2p@2.5", 8, 14.4e9); },
     nullptr},
    {"Lightning-AI/litgpt 607",
     "7 B gathered for each token by two A5000: 2.54 a second",
     2.16,
     2.92,
     [] { return 1 / gather("pcie4-x16-p2p", 2, 14e9); },
     nullptr},
    {"Lightning-AI/litgpt 607",
     "the same by four: 3.34 a second",
     2.5,
     3.5,
     [] { return 1 / gather("pcie4-x16-p2p", 4, 14e9); },
     "35 GB/s a card are more than an x16 slot of generation 4 carries"},
    {"xuebinqin/U-2-Net 400",
     "DDP of 176 MB on two 3090 and 278 ms: 1.7 to 1.95 times",
     1.7,
     1.95,
     [] { return plain_speedup(0.278, seconds("pcie4-x16-nop2p", 2, 176e6), 2); },
     nullptr},
    {"blog.chlc.cc, rtx4090 p2p",
     "SYS between all eight, a NUMA node each: no slow fabric",
     15,
     60,
     [] { return every_pair_sys(); },
     nullptr},

    // NVLink yes or no.
    {"huggingface/transformers 9371",
     "GPT-2 on two Titan RTX with a bridge: 1.95 to 2.0",
     1.94,
     2.02,
     [] { return speedup(gpt2_titan(), 2, "nvlink2-bridge-pcie3-nop2p"); },
     nullptr},
    {"huggingface/transformers 9371",
     "without P2P: 1.5 to 1.65",
     1.5,
     1.65,
     [] { return speedup(gpt2_titan(), 2, "pcie3-x16-nop2p"); },
     nullptr},
    {"r/LocalLLaMA, 3090 Ti pair",
     "bridge: 40 to 48 GB/s",
     40,
     48,
     [] { return busbw("nvlink3-bridge-pcie4-nop2p", 2); },
     nullptr},
    {"aikitoria/open-gpu-kernel-modules 18",
     "two bridges: four cards run at a slot's pace",
     2,
     20,
     [] { return busbw("nvlink3-bridge-pcie4-nop2p", 4); },
     nullptr},
    {"NVIDIA/nccl-tests 194",
     "115 GB/s on bridged H100 PCIe is about half of the bridge",
     0.4,
     0.65,
     [] { return ratio("nvlink4-bridge-pcie5", 115.5, 2); },
     nullptr},
    {"NVIDIA/nccl-tests 194",
     "and says that links are down",
     1,
     1,
     [] { return first_cause_says("nvlink4-bridge-pcie5", 115.5, 2, 1, "NVLinks up"); },
     nullptr},

    // Several machines.
    {"pytorch/pytorch 17159",
     "BERT on eight V100: 110 of 122 sequences a second each",
     0.857,
     0.947,
     [] { return speedup(bert_v100(), 8, "nvlink2-mesh") / 8; },
     "what each card more costs beside the exchange: input, host, waiting for the slowest"},
    {"mosaicml/llm-foundry 336",
     "FSDP of 1.3 B on 2 x 8 over 10G TCP: 7 to 9 times slower",
     7,
     9,
     [] { return 1 + 3 * gather("nvlink3-nvswitch+1x10G-tcp", 16, 2.6e9, 2); },
     nullptr},
    {"facebookresearch/detectron2 4730",
     "178 MB over gigabit: 1.4 to 1.5 s",
     1.4,
     1.6,
     [] { return seconds("pcie3-x16+1x1G-tcp", 2, 178e6, 2); },
     nullptr},
    {"jingchaozhang, IB vs Ethernet",
     "8 x 400G over 50G TCP, gathers of FSDP: 57 times, within a factor of 1.3",
     57 / 1.3,
     57 * 1.3,
     [] {
       return gather("nvlink4-nvswitch+1x50G-tcp", 16, 1e9, 2) /
              gather("nvlink4-nvswitch+8x400G-ib", 16, 1e9, 2);
     },
     nullptr},
    {"deepspeedai/DeepSpeed 5770",
     "3.1 GB gathered on 2 x 2 A10 in 1.6 s: slower than 25G TCP",
     0.8,
     1.6,
     [] { return gather("pcie4-x16-nop2p+1x25G-tcp", 4, 3.08e9, 2); },
     nullptr},
    {"deepspeedai/DeepSpeed 5770",
     "and faster than 10G",
     1.6,
     2.5,
     [] { return gather("pcie4-x16-nop2p+1x10G-tcp", 4, 3.08e9, 2); },
     nullptr},
    {"deepspeedai/DeepSpeed 5770",
     "with 100G a step of about 3.2 s",
     2.7,
     3.7,
     [] { return 2.46 + 3 * gather("pcie4-x16-nop2p+1x100G-tcp", 4, 3.08e9, 2); },
     nullptr},
    {"NVIDIA/nccl 949",
     "two HDR200: 48 GB/s on two machines is fine",
     0.6,
     1.4,
     [] { return ratio("nvlink3-nvswitch+2x200G-ib", 48, 16, 2); },
     "which algorithm that version took: two levels move half of what a ring does, 86 GB/s"},
    {"NVIDIA/nccl 949",
     "27 GB/s looks like adapters without GPUDirect",
     1,
     1,
     [] { return first_cause_says("nvlink3-nvswitch+2x200G-ib", 27, 16, 2, "GPUDirect"); },
     "which algorithm that version took: two levels move half of what a ring does, 86 GB/s"},
    {"NVIDIA/nccl 2171",
     "2 x 8 with eight 400G: 350 to 480 GB/s",
     350,
     520,
     [] { return busbw("nvlink4-nvswitch+8x400G-ib", 16, 2); },
     nullptr},
    {"NVIDIA/nccl 2171",
     "155 GB/s is a third of it: broken",
     0.25,
     0.4,
     [] { return ratio("nvlink4-nvswitch+8x400G-ib", 154.9, 16, 2); },
     nullptr},
    {"EleutherAI/gpt-neox 965",
     "ZeRO-2 reduces at every micro-step: ZeRO-1 is faster",
     1.02,
     3,
     [] {
       Scenario s;
       s.model = read_model("gpt2-1558m");
       s.training.batch = 2;
       s.training.seq = 1024;
       s.training.accumulation = 8;
       s.cluster.gpu = "a100-sxm-40";
       s.parallel.strategy = Strategy::zero2;
       s.parallel.sync_each_micro_step = true;
       const double two = step(s, 16, "nvlink3-nvswitch+1x100G-tcp", 2);
       s.parallel.strategy = Strategy::zero1;
       s.parallel.sync_each_micro_step = false;
       return two / step(s, 16, "nvlink3-nvswitch+1x100G-tcp", 2);
     },
     nullptr},

    // Collective tests and fabrics.
    {"NVIDIA/nccl 1168",
     "four GPUs of each of four machines, 8 x 100G: 45 GB/s",
     45 / 1.3,
     45 * 1.3,
     [] { return busbw("nvlink3-nvswitch+8x100G-ib", 16, 4, 268435456); },
     nullptr},
    {"NVIDIA/nccl 1168",
     "eight of each: 90 GB/s",
     90 / 1.3,
     90 * 1.3,
     [] { return busbw("nvlink3-nvswitch+8x100G-ib", 32, 4, 268435456); },
     nullptr},
    {"NVIDIA/nccl 1639",
     "28 GB/s on eight RTX 5090 is good",
     0.8,
     1.25,
     [] { return ratio("pcie5-x16-nop2p", 28, 8); },
     nullptr},
    {"NVIDIA/nccl 1639",
     "35 GB/s on four",
     0.8,
     1.35,
     [] { return ratio("pcie5-x16-nop2p", 35, 4); },
     nullptr},
    {"NVIDIA/nccl-tests 249, 71",
     "busbw of 0 is N copies of one rank",
     1,
     1,
     [] { return log_is_refused(); },
     nullptr},
    {"NVIDIA/nccl 583, 757",
     "eight A100 at 32 KiB: 1.9 GB/s",
     1.9 / 1.5,
     1.9 * 1.5,
     [] { return busbw("nvlink3-nvswitch", 8, 1, 32768); },
     nullptr},
    {"Azure/AI-benchmarking-guide 7",
     "GB200: 770 of 900 GB/s between two",
     770 * 0.85,
     770 * 1.15,
     [] { return copy_rate("nvlink5-nvl72", 4, 1); },
     nullptr},
    {"voipmonitor/rtx6kpro",
     "RTX PRO 6000, same node: 53 to 56 GB/s",
     53,
     56,
     [] { return copy_rate("pcie5-x16-p2p", 8, 1); },
     "edges carry what collectives reach of a slot, 65 %; a plain copy reaches 87 %"},
    {"voipmonitor/rtx6kpro",
     "across nodes: 39 to 51 GB/s",
     39,
     51,
     [] { return copy_rate("pcie5-x16-p2p", 8, 7); },
     "as above: between sockets, too, the rate is a collective's"},
    {"stas00/ml-engineering, network",
     "eight A100: 234.9 GB/s at 16 GiB",
     211,
     258,
     [] { return busbw("nvlink3-nvswitch", 8, 1, 17179869184.0); },
     nullptr},
    {"stas00/ml-engineering, network",
     "eight H200 with in-switch sums: 482 GB/s",
     434,
     530,
     [] { return busbw("nvlink4-nvswitch", 8, 1, 17179869184.0); },
     nullptr},
    {"stas00/ml-engineering, network",
     "and 39.9 GB/s at 1 MiB",
     20,
     80,
     [] { return busbw("nvlink4-nvswitch", 8, 1, 1048576); },
     nullptr},
};

}  // namespace

TEST_CASE("public puzzles are answered as they turned out, at least four in five") {
  const ThreadsHeld threads = check_cases(rows);
  INFO(threads.held << " of " << threads.all);
  CHECK(threads.all >= 25);
  CHECK(threads.held * 5 >= threads.all * 4);
}

std::vector<CaseAnswer> stepsight::link_case_answers() {
  return answers_of(rows);
}
