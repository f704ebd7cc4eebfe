// Own measurement files, and operator points in JSON lines.
#include <map>

#include "model/io/measurement_files.h"
#include "model/io/table.h"

namespace stepsight {

namespace {

constexpr std::int64_t largest = std::int64_t{1} << 40;
// A launch timed from the host shows the host's issue time below this.
constexpr double host_timed_floor_us = 150;
constexpr double host_issue_us = 30;

constexpr std::array<std::string_view, 12> dtype_words{"fp32",
                                                       "tf32",
                                                       "fp16",
                                                       "bf16",
                                                       "fp8",
                                                       "float32",
                                                       "float16",
                                                       "bfloat16",
                                                       "float",
                                                       "half",
                                                       "e4m3",
                                                       "fp8_e4m3"};
constexpr std::array<std::string_view, 3> layout_words{"TN", "NN", "NT"};
constexpr std::array<std::string_view, 2> family_words{"gpt", "llama"};

Dtype dtype_of(Table& point) {
  const std::size_t word = point.require_choice("dtype", dtype_words);
  return word + 1 == dtype_words.size()
             ? Dtype::fp8
             : parse_foreign_dtype(dtype_words[word]).value_or(Dtype::bf16);
}

double time_of(Table& point) {
  return point.require_number("median_us", 1e-4, 1e12);
}

// `highest_MHz`: the card's, 0 where the file does not say.
SeenClock clock_of(Table& point, double highest_MHz) {
  const auto seen = point.optional_number("sm_MHz", 0, 1e5);
  if (!seen || highest_MHz <= 0) return SeenClock::unknown;
  return *seen < 0.97 * highest_MHz ? SeenClock::lowered : SeenClock::full;
}

void read_gemm(Table& point, std::uint32_t source, double highest_MHz, Measurements& into) {
  GemmPoint out;
  out.gemm.m = point.require_int("m", 1, largest);
  out.gemm.n = point.require_int("n", 1, largest);
  out.gemm.k = point.require_int("k", 1, largest);
  out.gemm.dtype = dtype_of(point);
  out.gemm.layout = static_cast<Layout>(point.require_choice("layout", layout_words));
  out.time_us = time_of(point);
  out.source = source;
  out.clock = clock_of(point, highest_MHz);
  into.gemms.push_back(out);
}

void read_attention(Table& point, bool backward, std::uint32_t source, Measurements& into) {
  AttentionPoint out;
  Attention& a = out.attention;
  a.batch = point.require_int("batch", 1, largest);
  a.heads = point.require_int("heads", 1, largest);
  a.kv_heads = point.require_int("kv_heads", 1, largest);
  a.seq = point.require_int("seq", 1, largest);
  a.head_dim = point.require_int("head_dim", 1, largest);
  a.causal = point.require_bool("causal");
  a.backward = backward;
  a.dropout = point.optional_bool("dropout").value_or(false);
  a.dtype = dtype_of(point);
  out.time_us = time_of(point);
  out.source = source;
  into.attentions.push_back(out);
}

void read_convolution(Table& point,
                      ConvolutionDirection direction,
                      std::uint32_t source,
                      Measurements& into) {
  constexpr std::int64_t widest = 1 << 20;  // batch x pixels stay far from overflow
  ConvolutionPoint out;
  Convolution& c = out.convolution;
  c.batch = point.require_int("batch", 1, widest);
  c.channels = point.require_int("channels", 1, widest);
  c.height = c.width = point.require_int("size", 1, widest);
  c.out = point.require_int("out", 1, widest);
  c.kernel_height = c.kernel_width = point.require_int("kernel", 1, c.height);
  c.padding = c.kernel_height / 2;
  c.stride = point.require_int("stride", 1, c.height);
  c.direction = direction;
  c.dtype = dtype_of(point);
  if (c.dtype != Dtype::bf16 && c.dtype != Dtype::fp16) {
    point.mistake("dtype", "a convolution's must be bfloat16 or float16");
  }
  out.time_us = time_of(point);
  out.source = source;
  into.convolutions.push_back(out);
}

void read_pass(Table& point, PassKind kind, std::uint32_t source, Measurements& into) {
  PassPoint out;
  out.pass.kind = kind;
  out.pass.rows = point.require_int("rows", 1, largest);
  out.pass.cols = point.require_int("cols", 1, largest);
  if (kind == PassKind::concat) out.pass.cols *= 2;  // two inputs side by side
  out.pass.dtype = dtype_of(point);
  out.filled_rows = point.optional_int("vocab", 0, largest).value_or(0);
  if (kind != PassKind::embedding_backward) out.filled_rows = 0;
  out.time_us = time_of(point);
  out.source = source;
  into.passes.push_back(out);
}

// The small model of framework_operators.py: width 128, two heads, one sequence of 64.
ModelShape host_model(Family family, std::int64_t layers) {
  ModelShape s;
  s.name = "host";
  s.family = family;
  s.layers = layers;
  s.hidden = 128;
  s.heads = s.kv_heads = 2;
  s.head_dim = 64;
  s.ffn = 512;
  s.vocab = 512;
  s.bias = family == Family::gpt;
  s.gated_ffn = s.rms_norm = s.fused_gate_up = family == Family::llama;
  s.fused_qkv = true;
  return s;
}

void read_host(Table& point, HostPhase phase, std::uint32_t source, Measurements& into) {
  HostPoint out;
  out.phase = phase;
  const Family family =
      point.require_choice("family", family_words) == 0 ? Family::gpt : Family::llama;
  out.shape = host_model(family, point.require_int("layers", 1, 1000));
  const std::array<std::string_view, 2> words{"bf16", "amp-bf16"};
  out.training.precision = {Dtype::bf16, point.require_choice("precision", words) == 1};
  out.training.compile = point.require_bool("compile");
  out.training.seq = 64;
  out.buckets = point.optional_int("buckets", 0, 100000).value_or(0);
  const bool sharded = phase == HostPhase::sharded_forward ||
                       phase == HostPhase::sharded_backward ||
                       phase == HostPhase::sharded_optimizer;
  if (sharded) out.units = point.require_int("units", 1, 100000);
  out.time_us = time_of(point);
  out.source = source;
  into.hosts.push_back(out);
}

// "gemm_under_collective". Earlier files say compute and leave it to the name whether that is a
// product.
std::optional<OverlapWork> overlap_work(std::string_view word, const std::string& name) {
  if (word == "gemm") return OverlapWork::gemm;
  if (word == "memory") return OverlapWork::memory;
  if (word == "collective") return OverlapWork::collective;
  if (word == "copy") return OverlapWork::copy;
  if (word == "compute") {
    return name.empty() || name.starts_with("gemm") ? OverlapWork::gemm : OverlapWork::memory;
  }
  return std::nullopt;
}

// False where `op` is no pair that the model knows.
bool read_overlap(Table& point, std::string_view op, std::uint32_t source, Measurements& into) {
  constexpr std::string_view under = "_under_";
  const std::size_t at = op.find(under);
  if (at == std::string_view::npos) return false;
  OverlapPoint out;
  out.victim_name = point.optional_string("work").value_or("");
  out.aggressor_name = point.optional_string("beside").value_or("");
  const auto victim = overlap_work(op.substr(0, at), out.victim_name);
  const auto aggressor = overlap_work(op.substr(at + under.size()), out.aggressor_name);
  if (!victim || !aggressor) return false;
  out.victim = *victim;
  out.aggressor = *aggressor;
  const bool moves = out.victim == OverlapWork::collective || out.victim == OverlapWork::copy;
  out.bytes = point.optional_number(moves ? "work_bytes" : "beside_bytes", 0, 1e15).value_or(0);
  out.channels = point.optional_int("channels", 0, 1024).value_or(0);
  out.alone_us = point.optional_number("alone_us", 0, 1e12).value_or(0);
  out.beside_us = point.optional_number("median_us", 0, 1e12).value_or(0);
  out.rate = point.require_number("rate", 0.001, 1.5);
  out.source = source;
  into.overlaps.push_back(std::move(out));
  return true;
}

void read_power(Table& point, std::uint32_t source, Measurements& into) {
  PowerPoint out;
  out.flop_per_s = point.require_number("flop_per_s", 0, 1e18);
  out.bytes_per_s = point.require_number("bytes_per_s", 0, 1e16);
  out.power_W = point.require_number("power_W", 0.1, 1e5);
  const double most = point.require_number("sm_max_MHz", 1, 1e5);
  out.clock = point.require_number("sm_MHz", 1, 1e5) / most;
  out.source = source;
  into.powers.push_back(out);
}

void read_gap(Table& point, std::uint32_t source, Measurements& into) {
  constexpr std::array<std::string_view, 2> modes{"graph", "stream"};
  const bool stream = point.require_choice("mode", modes) == 1;
  into.gaps.push_back({stream, time_of(point), source});
}

void read_copy(Table& point, bool to_device, std::uint32_t source, Measurements& into) {
  const double bytes = point.require_number("bytes", 1, 1e15);
  into.copies.push_back({to_device, bytes, time_of(point), source});
}

void read_collective(Table& point, CollectiveKind kind, std::uint32_t source, Measurements& into) {
  CollectivePoint out;
  out.kind = kind;
  out.ranks = point.require_int("ranks", 1, 1000000);
  out.bytes = point.require_number("bytes", 1, 1e15);
  out.time_us = time_of(point);
  out.source = source;
  if (out.ranks > 1) into.collectives.push_back(out);
}

constexpr std::array<std::pair<std::string_view, HostPhase>, 8> host_ops{{
    {"host_forward", HostPhase::forward},
    {"host_backward", HostPhase::backward},
    {"host_optimizer", HostPhase::optimizer},
    {"host_accumulating_backward", HostPhase::accumulating_backward},
    {"host_bucketed_backward", HostPhase::bucketed_backward},
    {"host_sharded_forward", HostPhase::sharded_forward},
    {"host_sharded_backward", HostPhase::sharded_backward},
    {"host_sharded_optimizer", HostPhase::sharded_optimizer},
}};

// False for an op that no part of the model uses.
bool read_point(Table& point,
                std::string_view op,
                std::uint32_t source,
                double highest_MHz,
                Measurements& into) {
  for (const auto& [name, phase] : host_ops) {
    if (op == name) return read_host(point, phase, source, into), true;
  }
  if (read_overlap(point, op, source, into)) return true;
  for (std::size_t i = 0; i < convolution_names.size(); ++i) {
    if (op != convolution_names[i]) continue;
    read_convolution(point, static_cast<ConvolutionDirection>(i), source, into);
    return true;
  }
  if (op == "kernel_gap") return read_gap(point, source, into), true;
  if (op == "power") return read_power(point, source, into), true;
  if (op == "gemm") return read_gemm(point, source, highest_MHz, into), true;
  if (op == "attention") return read_attention(point, false, source, into), true;
  if (op == "attention_backward") return read_attention(point, true, source, into), true;
  if (op == "h2d" || op == "d2h") return read_copy(point, op == "h2d", source, into), true;
  if (const auto kind = parse_pass(op)) return read_pass(point, *kind, source, into), true;
  if (const auto kind = parse_collective(op)) {
    return read_collective(point, *kind, source, into), true;
  }
  return false;
}

void note_unused(const std::string& file,
                 const std::map<std::string, int>& unused,
                 Measurements& into) {
  for (const auto& [op, count] : unused) {
    into.skipped.push_back(file + ": " + std::to_string(count) + " points of op '" + op +
                           "' are not used");
  }
}

}  // namespace

void read_measurement_json(const std::string& file,
                           std::string_view text,
                           std::uint32_t source,
                           Measurements& into) {
  const Value root = parse_json(file, text);
  ErrorList errors(file);
  Table table(root, errors);
  table.require_int("schema", 1, 1);
  const double highest_MHz =
      table.sub_table("clocks_before").optional_number("sm_max_MHz", 0, 1e5).value_or(0);
  std::map<std::string, int> unused;
  for (Table& point : table.array_of_tables("points")) {
    const std::string op = point.require_string("op");
    if (!read_point(point, op, source, highest_MHz, into)) ++unused[op];
  }
  errors.throw_if_any();
  note_unused(file, unused, into);
}

void read_host_timed_operators(const std::string& file,
                               std::string_view text,
                               std::uint32_t source,
                               Measurements& into) {
  std::map<std::string, int> unused;
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string place = file + ":" + std::to_string(line);
    const Value root = parse_json(place, row);
    ErrorList errors(place);
    Table point(root, errors);
    const std::string op = point.require_string("op");
    const auto add_attention = [&](std::string_view key, bool backward) {
      const double us = point.require_number(key, 1e-6, 1e9) * 1e3;
      if (us < host_timed_floor_us) return;
      Attention a{point.require_int("B", 1, largest),
                  point.require_int("heads", 1, largest),
                  point.require_int("kv", 1, largest),
                  point.require_int("T", 1, largest),
                  point.require_int("hd", 1, largest),
                  true,
                  backward,
                  false,
                  Dtype::bf16};
      into.attentions.push_back({a, us, source});
    };
    if (op == "sdpa_causal") {
      add_attention("fwd_ms", false);
      add_attention("bwd_ms", true);
    } else if (op == "h2d" || op == "d2h") {
      const double bytes = point.require_number("bytes", 1, 1e15);
      const double us = point.require_number("ms", 1e-6, 1e9) * 1e3;
      if (us >= 2 * host_issue_us) into.copies.push_back({op == "h2d", bytes, us, source});
    } else {
      ++unused[op];  // the same operators are in own files, timed on the GPU alone
    }
    errors.throw_if_any();
  }
  note_unused(file, unused, into);
}

}  // namespace stepsight
