// Measured training runs: one row a run, what `validate` predicts and compares with.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepsight {

// What a row says. Text is as written, empty where the source does not say; so are the numbers.
// The columns std_* hold the same facts in fixed words (given in brackets); a word that is not
// among them is kept, for the predictor to refuse.
struct MeasuredRun {
  std::uint32_t line = 0;  // in the file, for messages
  std::string id;
  std::string source;
  std::string source_table;  // which table of the source, or which kind of own run
  std::string gpu;           // prose
  std::string model;
  std::string family;        // prose
  std::string sharding;      // prose
  std::string complete;      // "yes", or "no: " and what is missing
  std::string flag;          // doubts; empty = none
  std::string notes;         // this and the next two may be missing as columns, too
  std::string recompute;     // prose
  std::string attention;     // prose
  std::string measured_how;  // prose; may be missing as a column
  std::string compile;       // prose; may be missing
  std::string network;       // prose, column interconnect_inter; may be missing

  std::optional<std::int64_t> gpus, nodes;
  std::optional<std::int64_t> params;
  std::optional<std::int64_t> layers, hidden, heads, kv_heads, ffn, vocab, seq;
  std::optional<std::int64_t> micro_batch, global_batch, grad_accum;
  std::optional<std::int64_t> dp, tp, pp, vpp, cp, ep;
  double step_time_s = 0;  // > 0
  // What the framework's allocator gave out at most, in bytes: column peak_memory_GiB, or else the
  // words "peak memory 1.64 GiB" in the notes.
  std::optional<double> peak_memory;
  // Communication of a step that no kernel hides, in seconds: column exposed_ms, or else the words
  // "exposed 6.05 ms" in the notes; "all ranks: exposed 6.05 to 52.6 ms" counts before these, with
  // the least of the ranks: only the rank that comes last waits for the network and not for others.
  std::optional<double> exposed_s;

  std::string precision;    // prose
  std::string std_family;   // gpt llama bert txl moe t5 resnet vit
  std::string std_gpu;      // profile name
  std::string std_compute;  // fp32 tf32 fp16 bf16 fp8 fp4
  std::string std_dp;       // ddp zero1 zero2 zero3 fsdp hsdp
  std::string std_overlap;  // no = gradient communication does not overlap; empty = the usual
  std::string std_offload;
  std::string std_recompute;                   // none selective full
  std::string std_flash;                       // yes no
  std::string std_compile;                     // yes no
  std::string std_intra;                       // nvswitch nvlink-mesh nvlink-pairs pcie loopback:K
  std::optional<std::int64_t> std_grad_bytes;  // 2 or 4; empty = the framework's usual
  std::optional<double> std_inter_gbps_per_node;

  bool is_complete() const { return complete == "yes"; }
};

// Reads a runs file (at most 64 MB, .gz too) by the names in its header, in any order; columns
// that are not needed are ignored. Throws UserError: missing columns (all named), or every cell
// that is no number or out of range as file:line with the column's name.
std::vector<MeasuredRun> read_runs(const std::string& path);
std::vector<MeasuredRun> read_runs_text(const std::string& file, std::string_view text);

}  // namespace stepsight
