#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "model/io/bench_log.h"
#include "model/io/hf_config.h"
#include "model/io/logs/deepspeed.h"
#include "model/io/logs/hf_trainer.h"
#include "model/io/logs/lightning_profile.h"
#include "model/io/logs/log_lines.h"
#include "model/io/logs/megatron.h"
#include "model/io/logs/nanogpt.h"
#include "model/io/logs/nccl_info.h"
#include "model/io/logs/nsys_sqlite.h"
#include "model/io/logs/nsys_summary.h"
#include "model/io/logs/progress_bar.h"
#include "model/io/logs/read_log.h"
#include "model/io/logs/table_log.h"
#include "model/io/logs/torchtitan.h"
#include "model/io/logs/trace_split_file.h"
#include "model/io/logs/utilisation_log.h"
#include "model/io/logs/vision.h"
#include "model/io/nccl_log.h"
#include "model/io/p2p_log.h"
#include "model/io/runs_csv.h"
#include "model/io/scenario_file.h"
#include "model/io/topo_matrix.h"
#include "model/io/trace_file.h"
#include "model/scenario_rules.h"
#include "model/steady_window.h"
#include "tests/fuzz/fuzz_readers.h"
#include "tests/model/io/step_log_samples.h"
#include "tests/model/io/toy_recording.h"

namespace stepsight {

namespace {

using Seeds = std::vector<std::string>;

void require(bool holds) {
  if (!holds) std::abort();
}

void require_sound(const StepLog& log) {
  for (const LoggedStep& s : log.steps) {
    require(std::isfinite(s.seconds) && s.seconds > 0 && s.covers > 0);
    require(!s.data_seconds || (std::isfinite(*s.data_seconds) && *s.data_seconds >= 0));
    require(!s.rate || (std::isfinite(*s.rate) && *s.rate > 0));
  }
  for (const ScalingRow& r : log.rows) {
    require(r.gpus > 0 && (r.seconds || r.rate));
    require(!r.seconds || (std::isfinite(*r.seconds) && *r.seconds > 0));
    require(!r.rate || (std::isfinite(*r.rate) && *r.rate > 0));
  }
  for (const LoggedPart& p : log.parts)
    require(std::isfinite(p.seconds) && p.seconds >= 0 && p.count > 0);
  if (const auto w = steady_window(log.steps)) {
    require(std::isfinite(w->step_seconds) && w->step_seconds > 0 &&
            std::isfinite(w->mean_seconds));
    require(w->low_seconds <= w->step_seconds && w->step_seconds <= w->high_seconds);
    require(w->stall_share >= 0 && w->stall_share <= 1);
  }
}

template <typename Reader>
void read_lines_with(std::string_view text) {
  Reader reader;
  read_lines_text(text, [&](std::string_view line) { reader.line(line); });
  require_sound(reader.finish());
}

void read_any_log(std::string_view text) {
  require_sound(read_step_log_text("run.log", text));
}

Seeds log_seeds() {
  Seeds out;
  for (const samples::Sample& s : samples::all) out.emplace_back(s.text);
  out.emplace_back(samples::markdown_scaling);
  out.emplace_back(samples::nsys);
  return out;
}

void read_utilisation_samples(std::string_view text) {
  const auto verdict = judge_utilisation(read_utilisation_text("dmon.txt", text));
  if (!verdict) return;
  for (const auto& [gpu, mean] : verdict->mean) require(mean >= 0 && mean <= 100);
  require(!describe(*verdict).empty());
}

Seeds utilisation_seeds() {
  return {
      "# gpu   pwr gtemp mtemp    sm   mem  mclk  pclk\n# Idx     W     C     C     %     %   MHz  "
      " MHz\n"
      "    0   300    60    70    98    55  2619  1980\n    1   120    50    60    25    10  2619  "
      "1600\n",
      "timestamp, index, utilization.gpu [%], power.draw [W], clocks.sm [MHz]\n"
      "2026/01/05 10:00:00.123, 0, 35 %, 120.10 W, 1980 MHz\n"};
}

void read_nccl_lines(std::string_view text) {
  const NcclInfo info = read_nccl_info_text("run.log", text);
  require(info.lines > 0 && info.ranks >= 0);
  findings(info);
}

Seeds nccl_line_seeds() {
  return {
      "gpu-a:39155:39182 [0] NCCL INFO NCCL version 2.24.3+cuda12.6\n"
      "gpu-a:39155:39182 [0] NCCL INFO NET/IB : No device found.\n"
      "gpu-a:39155:39182 [0] NCCL INFO Using network Socket\n"
      "gpu-a:39155:39182 [0] NCCL INFO Channel 00 : 0[1000] -> 1[21000] via SHM/direct/direct\n"
      "gpu-a:39155:39182 [0] NCCL INFO Channel 01/0 : 7[7] -> 8[0] [send] via NET/IB/3/GDRDMA\n"
      "gpu-a:39155:39182 [0] NCCL INFO comm 0x55aa rank 0 nranks 4 - Init COMPLETE\n"
      "gpu-a:39155:39182 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE\n"};
}

void require_sound(const CollectiveLog& log) {
  require(log.ranks > 0 && log.nodes > 0);
  for (const CollectiveLogRow& row : log.rows) {
    require(std::isfinite(row.bytes) && row.bytes > 0 && std::isfinite(row.time_us) &&
            row.time_us > 0);
    require(std::isfinite(row.busbw_GBps));
  }
}

void read_nccl_tests(std::string_view text) {
  require_sound(read_collective_log("all_reduce.log", text));
}
void read_bench(std::string_view text) {
  require_sound(read_bench_log("all_reduce.log", text));
}
void read_p2p(std::string_view text) {
  require_sound(read_p2p_log("p2p.log", text));
}

Seeds nccl_tests_seeds() {
  return {
      "# Collective test starting: all_reduce_perf\n"
      "#  Rank  0 Group  0 Pid  1 on      gpu-a device  0 [0000:01:00] NVIDIA GeForce RTX 4090\n"
      "#  Rank  1 Group  0 Pid  1 on      gpu-a device  1 [0000:21:00] NVIDIA GeForce RTX 4090\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
      "     1048576        262144     float     sum      -1    283.1    3.70    3.70       0\n",
      "| payload |    busbw   |    algbw   |\n| ------: | ---------: | ---------: |\n"
      "|   32KiB |   1.44GBps |   0.82GBps |\n|   16GiB | 482.26GBps | 275.58GBps |\n",
      "[NVIDIA GeForce RTX 3090, pciBusID: 1, pciDeviceID: 0, pciDomainID:0]\n"
      "Device=0 CANNOT Access Peer Device=1\nP2P Connectivity Matrix\n     D\\D     0     1\n"
      "     0\t     1     0\n     1\t     0     1\nBidirectional P2P=Disabled Bandwidth Matrix "
      "(GB/s)\n"
      "   D\\D     0      1\n     0 832.58  16.10\n     1  16.00 835.01\n"};
}

void read_matrix(std::string_view text) {
  topo_matrix_topology("topo.txt", text, *parse_link_class("pcie4-x16-p2p"));
}

Seeds matrix_seeds() {
  return {
      "        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity\nGPU0     X      PHB     SYS  "
      "   0-23    0\n"
      "GPU1    PHB      X      SYS     0-23    0\nNIC0    SYS     SYS      X\n"};
}

void read_scenario_file(std::string_view text) {
  const ScenarioFile file = read_scenario_text("fuzz.toml", text);
  require(!file.points.empty());
  const std::size_t step = 1 + file.points.size() / 20;
  for (std::size_t i = 0; i < file.points.size(); i += step)
    require(violations(file.points[i]).empty());
}

Seeds scenario_seeds() {
  return {
      "[model]\nfamily = \"llama\"\nlayers = 2\nhidden = 96\nheads = 4\nffn = 200\nvocab = "
      "1000\nmax_seq = 77\n"
      "[training]\nglobal_batch = 24\nprecision = [\"amp-fp16\", \"bf16\"]\n[cluster]\ngpu = "
      "\"a\"\n"
      "gpus = [1, 2, 4]\nlink = \"b\"\n[parallel]\nbucket_cap_MB = 12.5\noverlap = false\n",
      "[model]\nname = \"gpt2-124m\"\n[training]\nbatch = 1\n[cluster]\ngpu = \"h200-sxm\"\ngpus = "
      "8\nnodes = 4\n"
      "link = \"pcie4-x16-p2p\"\n[cluster.topology]\nmachines_per_leaf = 2\nedges = [\n"
      "{ from = \"gpu0-1\", to = \"switch0-1\" }, { from = \"switch0-1\", to = \"socket0\" },\n"
      "{ from = \"nic0\", to = \"leaf0\", wire = \"200G-ib\" }]\n"};
}

void read_config(std::string_view text) {
  const ModelShape shape = read_hf_config_text("config.json", text);
  require(problems(shape).empty() && parameter_count(shape) > 0);
}

Seeds config_seeds() {
  return {
      "{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 4096, \"intermediate_size\": "
      "14336, "
      "\"max_position_embeddings\": 8192, \"model_type\": \"llama\", \"num_attention_heads\": 32, "
      "\"num_hidden_layers\": 32, \"num_key_value_heads\": 8, \"vocab_size\": 128256}"};
}

void read_runs_file(std::string_view text) {
  for (const MeasuredRun& run : read_runs_text("runs.csv", text)) {
    require(std::isfinite(run.step_time_s) && run.step_time_s > 0);
  }
}

Seeds runs_seeds() {
  return {
      "id,source,source_table,gpu,gpus,nodes,model,family,params,layers,hidden,heads,kv_heads,ffn_"
      "hidden,vocab,"
      "seq_len,micro_batch,global_batch,grad_accum,precision,dp,tp,pp,vpp,cp,ep,sharding,step_time_"
      "s,complete,"
      "flag,notes,std_family,std_gpu,std_compute,std_grad_bytes,std_dp,std_overlap,std_offload,std_"
      "recompute,"
      "std_flash,std_compile,std_intra,std_inter_gbps_per_node\n"
      "R1,s,t,\"H200, SXM\",2,1,gpt2,\"a "
      "\"\"b\"\"\",124475904,12,768,12,12,3072,50304,1024,8,16,1,bf16,2,1,1,,1,"
      "1,none,0.01,yes,,,gpt,h200-sxm,bf16,2,ddp,,,none,yes,no,nvswitch,\n"};
}

std::unique_ptr<TraceStream> stream_of(std::string_view text) {
  auto at = std::make_shared<std::size_t>(0);
  return std::make_unique<TraceStream>("fuzz.json", [text, at](char* to, std::size_t size) {
    const std::size_t n = std::min(size, text.size() - *at);
    std::memcpy(to, text.data() + *at, n);
    *at += n;
    return n;
  });
}

void read_trace(std::string_view text) {
  const TraceSurvey survey = survey_trace(*stream_of(text));
  const TraceWindow window = steady_window(survey);
  const TracedStep step =
      traced_step("fuzz.json", survey, window, collect_trace(*stream_of(text), window));
  for (const TracedKernel& k : step.kernels) require(std::isfinite(k.seconds) && k.seconds >= 0);
}

void require_sound(const StepSplit& s) {
  require(std::isfinite(s.step) && s.step > 0 && s.compute >= 0 && s.exposed >= 0 && s.idle >= 0);
  require(s.compute + s.exposed <= s.step * (1 + 1e-9));
}

void read_split(std::string_view text) {
  require_sound(read_step_split([&] { return stream_of(text); }));
}

void read_recording(std::string_view bytes) {
  require_sound(read_nsys_split_bytes("fuzz.sqlite", bytes));
}

Seeds recording_seeds() {
  return {toy_recording(), toy_recording(true)};
}

Seeds trace_seeds() {
  return {
      R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Toy card", "numSms": 4}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {"External id": 7,
 "Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"], "Sequence number": 3, "Fwd thread id": 0}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1,
 "args": {"External id": 7, "correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 10, "dur": 3,
 "args": {"External id": 7, "correlation": 7, "device": 0, "stream": 7}},
{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": 1, "tid": 2,
 "ts": 20, "dur": 5, "args": {"External id": 8, "Sequence number": 3, "Fwd thread id": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 21, "dur": 1,
 "args": {"External id": 8, "correlation": 8}},
{"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 24, "dur": 3,
 "args": {"External id": 8, "correlation": 8, "device": 0, "stream": 7}},
{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
 "pid": 1, "tid": 2, "ts": 26, "dur": 2, "args": {"External id": 9, "Input Dims": [[64, 32]],
 "Input type": ["float"]}}], "traceName": "x"})"};
}

constexpr std::array<FuzzReader, 23> readers{{
    {"any_log", read_any_log, log_seeds},
    {"hf_trainer", read_lines_with<HfTrainerLog>, log_seeds},
    {"progress_bar", read_lines_with<ProgressBarLog>, log_seeds},
    {"lightning_profile", read_lines_with<LightningProfileLog>, log_seeds},
    {"nanogpt", read_lines_with<NanogptLog>, log_seeds},
    {"megatron", read_lines_with<MegatronLog>, log_seeds},
    {"torchtitan", read_lines_with<TorchtitanLog>, log_seeds},
    {"deepspeed", read_lines_with<DeepspeedLog>, log_seeds},
    {"vision", read_lines_with<VisionLog>, log_seeds},
    {"nsys_summary", read_lines_with<NsysSummaryLog>, log_seeds},
    {"table_log", read_lines_with<TableLog>, log_seeds},
    {"utilisation", read_utilisation_samples, utilisation_seeds},
    {"nccl_info", read_nccl_lines, nccl_line_seeds},
    {"nccl_tests", read_nccl_tests, nccl_tests_seeds},
    {"p2p_log", read_p2p, nccl_tests_seeds},
    {"bench_log", read_bench, nccl_tests_seeds},
    {"topo_matrix", read_matrix, matrix_seeds},
    {"scenario", read_scenario_file, scenario_seeds},
    {"config_json", read_config, config_seeds},
    {"runs_csv", read_runs_file, runs_seeds},
    {"trace", read_trace, trace_seeds},
    {"trace_split", read_split, trace_seeds},
    {"nsys_recording", read_recording, recording_seeds},
}};

}  // namespace

std::span<const FuzzReader> log_fuzz_readers() {
  return readers;
}

}  // namespace stepsight
