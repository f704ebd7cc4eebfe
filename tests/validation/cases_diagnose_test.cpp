// What people reported of their own runs, as one table: the figures of the thread, the verdict that its
// cause calls for, and what `diagnose` says. Where the two differ the row says which fact is missing; it
// must differ indeed, so that the list stays true.
//
// Not asked, because the thread has no pair of step times: deepspeedai/DeepSpeed 2928 and 6889,
// NVIDIA/cosmos-framework 161, axolotl 1114, EleutherAI/gpt-neox 965, open-mmlab/mmpretrain 350,
// AILab-CVC/YOLO-World 165 (one run each), pytorch/pytorch 169461, dingo-gw/dingo 358 (no figures),
// open-mmlab/mmdetection 2090 (two versions of one run).
#include "simulate/diagnose.h"

#include "model/io/link_file.h"
#include "model/io/model_error_file.h"
#include "model/io/model_file.h"
#include "model/io/profile_file.h"
#include "tests/catch2.h"
#include "tests/validation/cases.h"

using namespace stepsight;

namespace {

// Only times: a step on one GPU (or on the smaller of two groups) and on N.
DiagnoseQuestion times(double one, double n, std::int64_t gpus, bool same_work = false) {
  DiagnoseQuestion q;
  q.one = one;
  q.n = n;
  q.gpus = gpus;
  q.same_work = same_work;
  return q;
}

// Rates over all GPUs, in units of a batch of one.
DiagnoseQuestion rates(double one, double n, std::int64_t gpus) {
  DiagnoseQuestion q = times(1 / one, static_cast<double>(gpus) / n, gpus);
  q.relative = true;
  return q;
}

DiagnoseQuestion with_params(DiagnoseQuestion q, double parameters, double bytes) {
  q.parameters = parameters;
  q.gradient_bytes = bytes;
  return q;
}

DiagnoseQuestion on_link(DiagnoseQuestion q, const char* link) {
  const CollectiveGroup group{CollectiveKind::all_reduce, q.gpus, q.nodes};
  q.link_GBps = link_curve(*find_link(link, ""), group)->curve.parameters.busbw_GBps;
  return q;
}

DiagnoseQuestion full(const char* model,
                      const char* gpu,
                      const char* link,
                      Dtype compute,
                      std::int64_t batch,
                      std::int64_t seq,
                      std::int64_t gpus,
                      double rate_one,
                      double rate_n) {
  Scenario s;
  s.model = read_model(model);
  s.training.batch = batch;
  s.training.seq = seq;
  s.training.precision = {compute, compute != Dtype::fp32};
  s.training.flash_attention = false;
  s.cluster.gpu = gpu;
  s.cluster.gpus = gpus;
  s.cluster.link = link;
  s.cluster.facts = find_link(link, "");
  DiagnoseQuestion q;
  q.gpus = gpus;
  q.one = static_cast<double>(batch) / rate_one;
  q.n = static_cast<double>(batch * gpus) / rate_n;
  q.scenario = s;
  return q;
}

// Lambda's benchmark: BERT on SQuAD, 384 tokens, fp16 by autocast.
DiagnoseQuestion lambda_bert(const char* gpu, const char* link, std::int64_t batch, std::int64_t gpus,
                             double one, double n) {
  return full("bert-large", gpu, link, Dtype::fp16, batch, 384, gpus, one, n);
}
DiagnoseQuestion lambda_resnet(const char* gpu, const char* link, std::int64_t batch, std::int64_t gpus,
                               double one, double n) {
  return full("resnet50", gpu, link, Dtype::fp16, batch, 1, gpus, one, n);
}

struct Row {
  const char* where;
  const char* asked;
  Verdict verdict;
  DiagnoseQuestion (*question)();
  const char* says;     // words of the headline; null: any
  const char* missing;  // null where the verdict is to hold
};

Diagnosis diagnosis_of(const DiagnoseQuestion& q) {
  std::optional<GpuProfile> gpu;
  if (q.scenario) gpu = read_profile(q.scenario->cluster.gpu);
  return diagnose(q, gpu ? &*gpu : nullptr, read_model_error());
}

constexpr Verdict healthy = Verdict::healthy;
constexpr Verdict explained = Verdict::explained;
constexpr Verdict unexplained = Verdict::unexplained;
constexpr Verdict unknown = Verdict::unknown;

const Row rows[] = {
    // 1: one box without NVLink or P2P
    {"cortwave, multi-gpu", "two 4090: 15.4 to 4.5 samples/s; the phase of the gradients from 19 to 400 ms",
     explained,
     [] {
       DiagnoseQuestion q = with_params(rates(15.4, 4.5, 2), 1.7e9, 2);
       q.evidence.communication = 0.381;
       return q;
     },
     "communication", nullptr},
    {"ahjavid, technical notes", "6.9 M parameters, 18.6 to 23.8 ms at the same global batch", explained,
     [] { return on_link(with_params(times(18.6e-3, 23.8e-3, 2, true), 6.9e6, 4), "pcie4-x16-nop2p"); },
     nullptr, nullptr},
    {"ahjavid, technical notes", "its appendix: 58 ms of communication in that step", unexplained,
     [] {
       DiagnoseQuestion q = times(18.6e-3, 23.8e-3, 2, true);
       q.evidence.communication = 58e-3;
       return q;
     },
     "contradict", nullptr},
    {"huggingface/diffusers 1734", "two A100: 0.446 to 0.467 s, as a maintainer measured", healthy,
     [] { return with_params(times(0.446, 0.467, 2), 0.98e9, 2); }, nullptr, nullptr},
    {"Lightning-AI/litgpt 1472", "FSDP of frozen 7.2 B over eight A10G: 0.1 to 30 s", explained,
     [] { return on_link(with_params(times(0.1, 30, 8), 7.2e9, 2), "pcie4-x16-nop2p"); },
     "0.843 GB/s", nullptr},
    {"zai-org/ChatGLM-6B 595", "one process on two 3090: 51.8 to 124.6 s", explained,
     [] {
       DiagnoseQuestion q = times(51.8, 124.6, 2);
       q.evidence.data_parallel = true;
       return q;
     },
     "DataParallel", nullptr},
    {"xuebinqin/U-2-Net 400", "DataParallel on two 3090: 3.6 to 4.1 it/s of one batch", explained,
     [] {
       DiagnoseQuestion q = times(1 / 3.6, 1 / 4.1, 2, true);
       q.evidence.data_parallel = true;
       return q;
     },
     "DataParallel", nullptr},
    {"WongKinYiu/PyTorch_YOLOv4 394", "16 to 26 minutes an epoch, nothing else known: ask", unknown,
     [] { return times(16 * 60, 26 * 60, 2, true); }, nullptr, nullptr},
    {"ultralytics/yolov5 1860", "eight 2080 Ti: 60 to 30 minutes; the CPU is the limit", explained,
     [] { return times(60 * 60, 30 * 60, 8, true); }, nullptr, "parameters, and what a step waits for data"},
    {"ultralytics/yolov5 1860", "two of them: 60 to 36 minutes, fits a ring", explained,
     [] { return with_params(times(60 * 60, 36 * 60, 2, true), 7.2e6, 4); }, nullptr,
     "the step: an epoch's time does not say how often gradients travel"},

    // 2: NVLink or not
    {"huggingface/transformers 9371", "GPT-2 on two TITAN RTX with a bridge: 102 to 101 s of 200 steps", healthy,
     [] {
       return full("gpt2-124m", "titan-rtx", "nvlink2-bridge-pcie3-nop2p", Dtype::fp32, 4, 1024, 2,
                   4 * 200 / 102.0, 8 * 200 / 101.0);
     },
     nullptr, nullptr},
    {"huggingface/transformers 9371", "with NCCL_P2P_DISABLE=1, taken for the bridge: 131 s", explained,
     [] {
       return full("gpt2-124m", "titan-rtx", "nvlink2-bridge-pcie3-nop2p", Dtype::fp32, 4, 1024, 2,
                   4 * 200 / 102.0, 8 * 200 / 131.0);
     },
     nullptr, nullptr},

    // 3, 4: several machines
    {"pytorch/pytorch 17159", "BERT on eight V100: 122 to 110 a GPU", healthy,
     [] { return times(32 / 122.0, 32 / 110.0, 8); }, nullptr, nullptr},
    {"pytorch/pytorch 17159", "and on two machines: 80 a GPU", explained,
     [] {
       DiagnoseQuestion q = with_params(times(32 / 122.0, 32 / 80.0, 16), 110e6, 4);
       q.nodes = 2;
       return q;
     },
     nullptr, nullptr},
    {"mosaicml/llm-foundry 336", "1.3 B on 2 x 8 without InfiniBand: eight times slower", explained,
     [] {
       DiagnoseQuestion q = with_params(times(1, 8, 16), 1.3e9, 2);
       q.nodes = 2;
       return on_link(q, "nvlink3-nvswitch+8x200G-ib");
     },
     "slower path than it should be", nullptr},
    {"deepspeedai/DeepSpeed 5770", "1.54 B, ZeRO-3 on 2 x 2 A10: 2.46 to 8.68 s", explained,
     [] {
       DiagnoseQuestion q = with_params(times(2.46, 8.68, 4), 1.54e9, 2);
       q.nodes = 2;
       return q;
     },
     nullptr, nullptr},

    // 5: not communication
    {"ultralytics/yolov5 12424", "4 to 32 GPUs, 2:30 to 2:46: a constant part", explained,
     [] { return times(9000, 9960, 8, true); }, nullptr,
     "what does not divide: a table of several numbers of GPUs would tell it"},
    {"NVIDIA/DeepLearningExamples 894", "Wide & Deep, fixed global batch: 8 cards 2 times", explained,
     [] { return times(1, 0.5, 8, true); }, nullptr, "parameters, and what a step waits for data"},
    {"Lightning-AI/pytorch-lightning 15004", "two A6000: 3 to 56 s a step, outside any bandwidth", unexplained,
     [] {
       DiagnoseQuestion q = times(3, 56, 2);
       q.memory_bytes = read_profile("rtx-a6000").memory_bytes;
       return q;
     },
     "slower than any link", nullptr},
    {"lambdal/deeplearning-benchmark", "BERT base on H100: 858 to 9,320 on eight", unexplained,
     [] { return rates(858, 9320, 8); }, "contradict", nullptr},
    {"lambdal/deeplearning-benchmark", "BERT base on B200: 1,405 to 30,221 on eight", unexplained,
     [] { return rates(1405, 30221, 8); }, "contradict", nullptr},

    // 6, 7, 8: unequal ranks, stalls, software
    {"jingchaozhang, thermal throttling", "one hot card of 16 at a fifth of its clock: five times slower", explained,
     [] {
       DiagnoseQuestion q = times(1, 5, 16);
       UtilisationVerdict hot;
       hot.slow_clock = 6;
       hot.slow_clock_factor = 0.2;
       q.evidence.utilisation = hot;
       return q;
     },
     "GPU 6 runs at 20 %", nullptr},
    {"stas00, fault tolerance", "BLOOM: 40 s of checkpoint every 3 hours, 384 GPUs", healthy,
     [] {
       DiagnoseQuestion q = times(100, 100.37, 384);
       q.evidence.stall_share = 40.0 / 10840;
       return q;
     },
     nullptr, nullptr},
    {"microsoft/dion 96", "590 to 510 ms on two: the optimizer's 118 ms are shared out", healthy,
     [] {
       DiagnoseQuestion q = times(0.590, 0.510, 2);
       q.evidence.divided = 0.1179;
       return q;
     },
     nullptr, nullptr},
    {"microsoft/dion 96", "the same without knowing that: more than two times one", unexplained,
     [] { return times(0.590, 0.510, 2); }, "contradict", nullptr},

    // 9: healthy tables
    {"Lambda", "ResNet-50 on two 3090: 905 to 1,751", healthy,
     [] { return lambda_resnet("rtx-3090", "pcie4-x16-nop2p", 448, 2, 905, 1751); }, nullptr, nullptr},
    {"Lambda", "ResNet-50 on two 4090: 1,301 to 2,468", healthy,
     [] { return lambda_resnet("rtx-4090", "pcie4-x16-nop2p", 448, 2, 1301, 2468); }, nullptr, nullptr},
    {"Lambda", "ResNet-50 on eight V100: 833 to 6,174", healthy,
     [] { return lambda_resnet("v100-sxm-16", "nvlink2-mesh", 256, 8, 833, 6174); }, nullptr, nullptr},
    {"Lambda", "ResNet-50 on eight H100: 2,791 to 22,059", healthy,
     [] { return lambda_resnet("h100-sxm", "nvlink4-nvswitch", 1280, 8, 2791, 22059); }, nullptr, nullptr},
    {"Lambda", "BERT large on two 3090: 52 to 89", healthy,
     [] { return lambda_bert("rtx-3090", "pcie4-x16-nop2p", 28, 2, 52, 89); }, nullptr, nullptr},
    {"Lambda", "BERT large on two 4090: 93 to 139", explained,
     [] { return lambda_bert("rtx-4090", "pcie4-x16-nop2p", 28, 2, 93, 139); }, nullptr, nullptr},
    {"Lambda", "BERT large on two A6000: 68 to 118", healthy,
     [] { return lambda_bert("rtx-a6000", "pcie4-x16-p2p", 64, 2, 68, 118); }, nullptr, nullptr},
    {"Lambda", "BERT large on eight 6000 Ada: 79 to 642", healthy,
     [] { return lambda_bert("rtx-6000-ada", "pcie4-x16-p2p", 64, 8, 79, 642); }, nullptr, nullptr},
    {"Lambda", "BERT large on eight V100: 57 to 286", explained,
     [] { return lambda_bert("v100-sxm-16", "nvlink2-mesh", 16, 8, 57, 286); }, nullptr, nullptr},
    {"Lambda", "BERT large on eight H100: 311 to 2,340", healthy,
     [] { return lambda_bert("h100-sxm", "nvlink4-nvswitch", 112, 8, 311, 2340); }, nullptr, nullptr},
    {"Lambda", "GNMT on eight H100: 473,757 to 3,724,477", healthy,
     [] { return rates(473757, 3724477, 8); }, nullptr, nullptr},
    {"pytorch/torchtitan", "8 B FSDP, 8 to 128 H100: 5,762 to 5,605 tokens/s a GPU", healthy,
     [] { return rates(5762, 16 * 5605.0, 16); }, nullptr, nullptr},
    {"pytorch/torchtitan", "compiled: 6,667 to 6,514", healthy,
     [] { return rates(6667, 16 * 6514.0, 16); }, nullptr, nullptr},
    {"pytorch/torchtitan", "with fp8: 8,532 to 8,380", healthy,
     [] { return rates(8532, 16 * 8380.0, 16); }, nullptr, nullptr},
    {"MosaicML, 1.3 B", "strong scaling over 16 nodes: 14.4 times", healthy,
     [] { return times(14.4, 1, 16, true); }, nullptr, nullptr},
    {"EleutherAI/gpt-neox 424", "eight RTX 8000: about 7 times one", healthy,
     [] { return rates(1, 7, 8); }, nullptr, nullptr},
};

}  // namespace

TEST_CASE("people's own runs get the verdict that their cause calls for") {
  int right = 0;
  int asked = 0;
  for (const Row& row : rows) {
    CAPTURE(row.where, row.asked);
    const DiagnoseQuestion q = row.question();
    const Diagnosis d = diagnosis_of(q);
    CAPTURE(d.headline, d.speedup, d.gap);
    const Quantiles e = d.expected.value_or(Quantiles{});
    CAPTURE(q.one.value_or(0), q.n, e.p5, e.p50, e.p95, d.implied_GBps.value_or(0));
    ++asked;
    if (d.verdict == row.verdict) ++right;
    if (row.missing == nullptr) {
      CHECK(name_of(d.verdict) == name_of(row.verdict));
      if (row.says != nullptr) CHECK_THAT(d.headline, match::ContainsSubstring(row.says));
    } else {
      CHECK(name_of(d.verdict) != name_of(row.verdict));
    }
  }
  CHECK(asked >= 40);
  CHECK(right >= 0.85 * asked);
}

TEST_CASE("a diagnosis that is not healthy says what to do first") {
  for (const Row& row : rows) {
    const DiagnoseQuestion q = row.question();
    const Diagnosis d = diagnosis_of(q);
    CAPTURE(row.where, row.asked);
    CHECK(d.to_do.size() <= 3);
    if (d.verdict != Verdict::healthy) CHECK_FALSE(d.to_do.empty());
    if (d.verdict == Verdict::unknown) CHECK_FALSE(d.ask.empty());
  }
}

std::vector<CaseAnswer> stepsight::diagnose_case_answers() {
  std::vector<CaseAnswer> out;
  for (const Row& row : rows) {
    const Diagnosis d = diagnosis_of(row.question());
    const bool says = row.says == nullptr || d.headline.find(row.says) != std::string::npos;
    out.push_back({row.where, row.asked, d.verdict == row.verdict && says});
  }
  return out;
}
