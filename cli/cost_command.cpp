#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/profiles.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/shape_csv.h"
#include "reports/escape.h"
#include "reports/text_table.h"
#include "simulate/shape_cost.h"

namespace stepsight {

namespace {

// The flags of a single operator are the columns of a table of one row.
struct ShapeFlag {
  const char* column;
  const char* meaning;
};
constexpr ShapeFlag shape_flags[] = {
    {"m", "gemm: rows of the result"},
    {"n", "gemm: columns of the result"},
    {"k", "gemm: depth of the sum"},
    {"layout", "gemm: TN forward (default), NN input gradient, NT weight gradient"},
    {"batch", "attention: sequences; conv: images"},
    {"heads", "attention: query heads"},
    {"kv_heads", "attention: key and value heads (default as heads)"},
    {"seq", "attention: tokens of a sequence"},
    {"head_dim", "attention: width of a head"},
    {"causal", "attention: yes (default) or no"},
    {"channels", "conv: channels of the image"},
    {"size", "conv: rows and columns of the image"},
    {"out", "conv: filters"},
    {"kernel", "conv: rows and columns of the window (default 1), padded by half of it"},
    {"stride", "conv: pixels from window to window (default 1)"},
    {"groups", "conv: groups of channels (default 1)"},
    {"rows", "pass: rows, such as tokens"},
    {"cols", "pass: elements of a row"},
    {"bytes", "collective, h2d, d2h: the message; pass without rows: one tensor"},
    {"gpus", "collective: ranks"},
    {"dtype", "fp32, tf32, fp16, bf16 (default) or fp8"},
};

struct CostFlags {
  std::string op;
  std::map<std::string, std::string> values;
  std::string csv;
  std::string gpu;
  std::string link;
  std::string output;
  bool json = false;
};

Cost cost_of(const CostShape& shape, const CostFlags& flags, const GpuProfile& gpu) {
  if (const auto* c = std::get_if<CollectiveShape>(&shape)) {
    return collective_cost({c->kind, flags.link, c->gpus, c->bytes}, gpu);
  }
  if (const auto* c = std::get_if<CopyShape>(&shape)) {
    return {copy_formula(c->bytes, c->to_device ? gpu.host_to_device : gpu.device_to_host), true};
  }
  if (const auto* g = std::get_if<Gemm>(&shape)) return cost(*g, gpu);
  if (const auto* a = std::get_if<Attention>(&shape)) return cost(*a, gpu);
  if (const auto* c = std::get_if<Convolution>(&shape)) return cost(*c, gpu);
  return cost(std::get<Pass>(shape), gpu);
}

// What the time means as a rate.
std::string rate_of(const CostShape& shape, double seconds) {
  const auto tflops = [&](Flops f) {
    return fmt::format("{:.1f} TFLOP/s", f.value / seconds / 1e12);
  };
  const auto rate = [&](double b) {
    return fmt::format("{} GB/s", format_significant(b / seconds / 1e9));
  };
  if (const auto* g = std::get_if<Gemm>(&shape)) return tflops(flops(*g));
  if (const auto* a = std::get_if<Attention>(&shape)) return tflops(flops(*a));
  if (const auto* c = std::get_if<Convolution>(&shape)) return tflops(flops(*c));
  if (const auto* p = std::get_if<Pass>(&shape)) return rate(bytes(*p).value) + " read and written";
  if (const auto* c = std::get_if<CopyShape>(&shape)) return rate(c->bytes);
  const auto& c = std::get<CollectiveShape>(shape);
  return rate(c.bytes * traffic_factor(c.kind, c.gpus)) + " busbw";
}

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string table_of(const ShapeTable& table, const CostFlags& flags, const GpuProfile& gpu) {
  std::string out;
  for (const std::string& h : table.header) {
    if (h == "time_us" || h == "measured") {
      throw UserError(flags.csv + ": has a column '" + h + "' already, which cost would add");
    }
    out += quoted(h) + ",";
  }
  out += "time_us,measured\n";
  for (std::size_t i = 0; i < table.shapes.size(); ++i) {
    const Cost c = cost_of(table.shapes[i], flags, gpu);
    for (const std::string& cell : table.rows[i]) out += quoted(cell) + ",";
    out += fmt::format("{},{}\n", c.time.value * 1e6, c.measured ? "yes" : "no");
  }
  return out;
}

ShapeTable single_shape(const CostFlags& flags) {
  if (flags.op.empty()) throw UserError("cost needs an operator, as in `cost gemm`, or --csv FILE");
  std::string header = "op";
  std::string row = flags.op;
  for (const auto& [name, value] : flags.values) {
    if (value.empty()) continue;
    header += "," + name;
    row += "," + value;
  }
  return read_shapes("the command line", header + "\n" + row + "\n");
}

std::string single_text(const ShapeTable& table, const CostFlags& flags, const GpuProfile& gpu) {
  const Cost c = cost_of(table.shapes.front(), flags, gpu);
  if (flags.json) {
    return fmt::format("{{\"op\": {}, \"gpu\": {}, \"time_us\": {}, \"measured\": {}}}\n",
                       json_string(flags.op),
                       json_string(gpu.name),
                       c.time.value * 1e6,
                       c.measured);
  }
  return fmt::format("{} on {}: {}, {}{}\n",
                     flags.op,
                     gpu.name,
                     format_seconds(c.time.value),
                     rate_of(table.shapes.front(), c.time.value),
                     c.measured ? "" : "\n(extrapolated: no measured point is near)");
}

void cost_command(const CostFlags& flags) {
  Profiles profiles;
  const GpuProfile& gpu = profiles.get(flags.gpu);
  if (!flags.csv.empty()) {
    const std::string text = read_file(flags.csv, 256 * megabyte, "a table of shapes");
    write_output(flags.output, table_of(read_shapes(flags.csv, text), flags, gpu));
    return;
  }
  write_output(flags.output, single_text(single_shape(flags), flags, gpu));
}

}  // namespace

void add_cost_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<CostFlags>();
  CLI::App* command = app.add_subcommand("cost", "The time of one operator, or of a CSV of them");
  command->add_option(
      "op",
      flags->op,
      help_text("gemm, attention, attention_backward, conv, conv_dgrad, conv_wgrad, a memory-bound "
                "pass (gelu, "
                "layer_norm, adamw, ...), a collective (all_reduce, ...), h2d, d2h"));
  command->add_option("--gpu", flags->gpu, "the card: a profile's name or path")->required();
  for (const auto& [column, meaning] : shape_flags) {
    std::string flag = "--" + std::string(column);
    std::replace(flag.begin(), flag.end(), '_', '-');
    command->add_option(flag, flags->values[column], help_text(meaning))->group("Shape");
  }
  command->add_option("--link", flags->link, "of a collective, where the profile has several");
  command->add_option("--csv",
                      flags->csv,
                      help_text("table with a column op and columns named as the shape's flags: "
                                "time_us and measured (yes, no) are added"));
  command->add_flag("--json", flags->json, "for machines");
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->footer(
      "Example:\n  stepsight cost gemm --gpu h200-sxm --m 8192 --n 4096 --k 4096 --dtype bf16");
  command->callback([flags] { cost_command(*flags); });
}

}  // namespace stepsight
