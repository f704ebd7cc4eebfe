// The program as a person runs it: sweeps that are written, their memory, a plan, and a prediction
// from the start of the process to its end.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/process.h"

namespace stepsight::bench {
namespace {

constexpr double skipped = std::numeric_limits<double>::quiet_NaN();

std::string numbers(int from, int count, int step = 1) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i > 0 ? "," : "") + std::to_string(from + i * step);
  return out;
}

// Llama-2 7B under DDP on 8 H200 over `batches` batches times `lengths` lengths.
std::string llama_sweep(int batches, int lengths) {
  return "[model]\nname = \"llama2-7b\"\n[training]\nseq = [" +
         numbers(4096 - 8 * lengths, lengths, 8) + "]\nbatch = [" + numbers(1, batches) +
         "]\n[cluster]\ngpu = \"h200-sxm\"\ngpus = 8\nlink = \"nvlink4-nvswitch\"\n";
}

// GPT-3 175B in 8 stages of 2 chunks and 64 micro-batches, over lengths.
std::string gpt3_sweep(int lengths) {
  return "[model]\nfamily = \"gpt\"\nlayers = 96\nhidden = 12288\nheads = 96\nvocab = 51200\n"
         "positions = 4096\n[training]\naccumulation = 64\nprecision = \"master-bf16\"\nseq = [" +
         numbers(1024, lengths, 2) +
         "]\n[cluster]\ngpu = \"h200-sxm\"\ngpus = 64\ngpus_per_node = 8\n"
         "link = \"nvlink4-nvswitch+8x400G-ib\"\n[parallel]\ntensor = 8\npipeline = 8\nchunks = 2\n"
         "schedule = \"interleaved\"\n";
}

Process sweep(const BenchContext& context, const std::string& scenario) {
  const Folder folder;
  return run_process({context.program,
                      "sweep",
                      folder.file("sweep.toml", scenario),
                      "-o",
                      folder.path("rows.csv"),
                      "--threads",
                      "2"});
}

double rate(const BenchContext& context, const std::string& scenario, int points) {
  if (context.program.empty()) return skipped;
  const Process done = sweep(context, scenario);
  return done.succeeded ? points / done.seconds : skipped;
}

double llama_rate(const BenchContext& context) {
  return rate(context, llama_sweep(1000, 100), 100000);
}
double gpt3_rate(const BenchContext& context) {
  return rate(context, gpt3_sweep(1500), 1500);
}
double million_rate(const BenchContext& context) {
  return context.long_runs ? rate(context, llama_sweep(2000, 500), 1000000) : skipped;
}

// Peak memory of ten times the points over that of a tenth of them.
double memory_growth(const BenchContext& context) {
  if (context.program.empty()) return skipped;
  const Process few = sweep(context, llama_sweep(1000, 10));
  const Process many =
      sweep(context, context.long_runs ? llama_sweep(2000, 500) : llama_sweep(1000, 100));
  return few.succeeded && many.succeeded ? many.peak_bytes / few.peak_bytes : skipped;
}
double memory_MB(const BenchContext& context) {
  if (context.program.empty()) return skipped;
  const Process done = sweep(context, llama_sweep(1000, 100));
  return done.succeeded ? done.peak_bytes * 1e-6 : skipped;
}

// simulate/README.md says what each of Calculon's choices is here.
Process plan_22b(const BenchContext& context) {
  const Folder folder;
  const std::string text =
      "[model]\nfamily = \"gpt\"\nlayers = 48\nhidden = 6144\nheads = 64\nvocab = 51200\n"
      "positions = 2048\n[training]\nglobal_batch = 512\nseq = 2048\nprecision = \"master-bf16\"\n"
      "fused_kernels = [true, false]\nflash_attention = [true, false]\n"
      "recompute = [\"none\", \"selective\", \"full\"]\n"
      "[cluster]\ngpu = \"a100-sxm-80\"\ngpus = 8\nlink = [\"nvlink3-nvswitch\", "
      "\"pcie4-x16-p2p\"]\n"
      "[parallel]\noverlap = [true, false]\noverlap_tensor = [true, false]\nbucket_cap_MB = [10, "
      "25, 100]\n";
  return run_process(
      {context.program, "plan", folder.file("plan.toml", text), "--json", "--threads", "2"});
}
double plan_s(const BenchContext& context) {
  if (context.program.empty()) return skipped;
  const Process done = plan_22b(context);
  return done.succeeded ? done.seconds : skipped;
}
double plan_candidates(const BenchContext& context) {
  if (context.program.empty()) return skipped;
  const std::string answer = plan_22b(context).output;
  const std::size_t at = answer.find("\"all\": ");
  return at == std::string::npos ? skipped : std::stod(answer.substr(at + 7));
}

// The middle of 31 runs.
double command_ms(const BenchContext& context,
                  std::vector<std::string> arguments,
                  double Process::*figure) {
  if (context.program.empty()) return skipped;
  arguments.insert(arguments.begin(), context.program);
  std::vector<double> all;
  for (int i = 0; i < 31; ++i) {
    const Process done = run_process(arguments);
    if (!done.succeeded) return skipped;
    all.push_back(1e3 * done.*figure);
  }
  std::ranges::nth_element(all, all.begin() + 15);
  return all[15];
}

double predict_ms(const BenchContext& context, double Process::*figure) {
  return command_ms(context,
                    {"predict",
                     "--model",
                     "llama2-7b",
                     "--gpu",
                     "h200-sxm",
                     "--gpus",
                     "8",
                     "--batch",
                     "4",
                     "--seq",
                     "2048"},
                    figure);
}

double diagnose_ms(const BenchContext& context) {
  return command_ms(context,
                    {"diagnose",
                     "--t1",
                     "0.75",
                     "--tn",
                     "1.33",
                     "--gpus",
                     "2",
                     "--model",
                     "gpt2-355m",
                     "--batch",
                     "8",
                     "--gpu",
                     "rtx-3090",
                     "--link",
                     "pcie4-x16-nop2p",
                     "--precision",
                     "fp16"},
                    &Process::seconds);
}

const int registered[] = {
    add_bench({"command: sweep, Llama-2 7B, DDP on 8, 100,000 rows, two threads",
               20000,
               "/s",
               Better::higher,
               llama_rate}),
    add_bench({"command: sweep, GPT-3 175B, TP 8, PP 8 in 2 chunks, m = 64",
               2000,
               "/s",
               Better::higher,
               gpt3_rate}),
    add_bench(
        {"command: sweep of 1,000,000 rows (--long)", 20000, "/s", Better::higher, million_rate}),
    add_bench({"command: sweep's peak memory, 100,000 rows", 150, "MB", Better::lower, memory_MB}),
    add_bench({"command: sweep's peak memory, over that of 10,000 rows",
               1.1,
               "times",
               Better::lower,
               memory_growth}),
    add_bench({"command: plan, 22B on 8 GPUs, Calculon's choices and more",
               30,
               "s",
               Better::lower,
               plan_s}),
    add_bench({"command: candidates of that plan", 290624, "", Better::higher, plan_candidates}),
    add_bench({"command: predict, start to end",
               30,
               "ms",
               Better::lower,
               [](const BenchContext& c) { return predict_ms(c, &Process::seconds); }}),
    add_bench({"command: diagnose, start to end", 1000, "ms", Better::lower, diagnose_ms}),
    add_bench({"command: predict, processor's time",
               30,
               "ms",
               Better::lower,
               [](const BenchContext& c) { return predict_ms(c, &Process::cpu_s); }}),
};

}  // namespace
}  // namespace stepsight::bench
