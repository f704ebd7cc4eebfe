#include "model/io/runs_csv.h"

#include <array>
#include <charconv>

#include "model/io/csv.h"
#include "model/io/read_file.h"

namespace stepsight {
namespace {

struct TextColumn {
  std::string_view name;
  std::string MeasuredRun::*field;
};
struct IntegerColumn {
  std::string_view name;
  std::optional<std::int64_t> MeasuredRun::*field;
  std::int64_t most;
};

using Run = MeasuredRun;

constexpr std::array<TextColumn, 20> texts{{
    {"id", &Run::id},
    {"source", &Run::source},
    {"source_table", &Run::source_table},
    {"gpu", &Run::gpu},
    {"model", &Run::model},
    {"family", &Run::family},
    {"sharding", &Run::sharding},
    {"precision", &Run::precision},
    {"complete", &Run::complete},
    {"flag", &Run::flag},
    {"std_family", &Run::std_family},
    {"std_gpu", &Run::std_gpu},
    {"std_compute", &Run::std_compute},
    {"std_dp", &Run::std_dp},
    {"std_overlap", &Run::std_overlap},
    {"std_offload", &Run::std_offload},
    {"std_recompute", &Run::std_recompute},
    {"std_flash", &Run::std_flash},
    {"std_compile", &Run::std_compile},
    {"std_intra", &Run::std_intra},
}};

constexpr std::array<IntegerColumn, 20> integers{{
    {"gpus", &Run::gpus, 1000000},
    {"nodes", &Run::nodes, 1000000},
    {"params", &Run::params, 1000000000000000},
    {"layers", &Run::layers, 10000},
    {"hidden", &Run::hidden, 1000000},
    {"heads", &Run::heads, 100000},
    {"kv_heads", &Run::kv_heads, 100000},
    {"ffn_hidden", &Run::ffn, 10000000},
    {"vocab", &Run::vocab, 100000000},
    {"seq_len", &Run::seq, 1000000000},
    {"micro_batch", &Run::micro_batch, 1000000},
    {"global_batch", &Run::global_batch, 1000000000},
    {"grad_accum", &Run::grad_accum, 1000000},
    {"dp", &Run::dp, 1000000},
    {"tp", &Run::tp, 1000000},
    {"pp", &Run::pp, 1000000},
    {"vpp", &Run::vpp, 1000000},
    {"cp", &Run::cp, 1000000},
    {"ep", &Run::ep, 1000000},
    {"std_grad_bytes", &Run::std_grad_bytes, 8},
}};

constexpr double longest_step_s = 1e6;
constexpr double fastest_link_gbps = 1e7;
constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
constexpr double largest_memory_GiB = 1e5;

// The number that stands between `words` and `unit`; nothing where it is not from 0 to `most`.
std::optional<double> noted(std::string_view notes,
                            std::string_view words,
                            std::string_view unit,
                            double most) {
  const std::size_t at = notes.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = notes.substr(at + words.size());
  double value = 0;
  const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const std::string_view after = rest.substr(static_cast<std::size_t>(end - rest.data()));
  if (status != std::errc{} || !after.starts_with(unit)) return std::nullopt;
  if (!(value >= 0 && value < most)) return std::nullopt;
  return value;
}

std::optional<double> noted_peak_GiB(std::string_view notes) {
  const auto value = noted(notes, "peak memory ", " GiB", largest_memory_GiB);
  return value == 0 ? std::nullopt : value;
}

std::optional<double> noted_exposed_ms(std::string_view notes) {
  constexpr double most = 1e3 * longest_step_s;
  const auto least = noted(notes, "all ranks: exposed ", " to ", most);
  return least ? least : noted(notes, "exposed ", " ms", most);
}

}  // namespace

std::vector<MeasuredRun> read_runs_text(const std::string& file, std::string_view text) {
  CsvTable table(file, text);
  std::array<std::size_t, texts.size()> text_at{};
  std::array<std::size_t, integers.size()> integer_at{};
  for (std::size_t i = 0; i < texts.size(); ++i) text_at[i] = table.column(texts[i].name);
  for (std::size_t i = 0; i < integers.size(); ++i) integer_at[i] = table.column(integers[i].name);
  const std::size_t step_time = table.column("step_time_s");
  const std::size_t inter = table.column("std_inter_gbps_per_node");
  const std::size_t notes = table.optional_column("notes");
  const std::size_t recompute = table.optional_column("recompute");
  const std::size_t attention = table.optional_column("attention");
  const std::size_t measured_how = table.optional_column("measured_how");
  const std::size_t compile = table.optional_column("compile");
  const std::size_t network = table.optional_column("interconnect_inter");
  const std::size_t peak = table.optional_column("peak_memory_GiB");
  const std::size_t exposed = table.optional_column("exposed_ms");
  table.check_columns();

  std::vector<MeasuredRun> runs;
  while (table.next()) {
    MeasuredRun& run = runs.emplace_back();
    run.line = table.line();
    for (std::size_t i = 0; i < texts.size(); ++i) run.*texts[i].field = table.text(text_at[i]);
    for (std::size_t i = 0; i < integers.size(); ++i) {
      run.*integers[i].field = table.optional_integer(integer_at[i], 1, integers[i].most);
    }
    run.notes = table.text(notes);
    run.recompute = table.text(recompute);
    run.attention = table.text(attention);
    run.measured_how = table.text(measured_how);
    run.compile = table.text(compile);
    run.network = table.text(network);
    run.peak_memory = table.optional_number(peak, 1e-6, largest_memory_GiB);
    if (!run.peak_memory) run.peak_memory = noted_peak_GiB(run.notes);
    if (run.peak_memory) *run.peak_memory *= gibibyte;
    run.exposed_s = table.optional_number(exposed, 0, 1e3 * longest_step_s);
    if (!run.exposed_s) run.exposed_s = noted_exposed_ms(run.notes);
    if (run.exposed_s) *run.exposed_s *= 1e-3;
    // Nothing trains in less than a nanosecond; 0 would make every relative error infinite.
    run.step_time_s = table.number(step_time, 1e-9, longest_step_s);
    run.std_inter_gbps_per_node = table.optional_number(inter, 0, fastest_link_gbps);
  }
  table.finish();
  return runs;
}

std::vector<MeasuredRun> read_runs(const std::string& path) {
  return read_runs_text(path, read_file(path, 64 * megabyte, "a runs file"));
}

}  // namespace stepsight
