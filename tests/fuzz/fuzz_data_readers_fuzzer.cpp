// The readers of what the project writes and ships itself, which people copy and change: profiles,
// links, models, prices, the model's error, tables of shapes, measurements.
#include <array>
#include <cmath>
#include <cstdlib>

#include "model/io/builtin.h"
#include "model/io/link_file.h"
#include "model/io/measurement_files.h"
#include "model/io/model_error_file.h"
#include "model/io/model_file.h"
#include "model/io/price_list.h"
#include "model/io/profile_file.h"
#include "model/io/shape_csv.h"
#include "tests/fuzz/fuzz_readers.h"

namespace stepsight {

namespace {

using Seeds = std::vector<std::string>;

void require(bool holds) {
  if (!holds) std::abort();
}

// Every file of a folder under scenarios/ that is no larger than what mutates well.
Seeds shipped(const std::string& folder) {
  constexpr std::size_t most = 60'000;
  Seeds out;
  for (const std::string_view name : builtin_names(folder)) {
    const auto text = builtin_file(folder + "/" + std::string(name) + ".toml");
    if (text && text->size() < most) out.emplace_back(*text);
  }
  return out;
}

void read_a_profile(std::string_view text) {
  GpuProfile gpu = read_profile_text("fuzz.toml", text);
  for (const NamedParameter& p : named_parameters(gpu)) {
    require(*p.value >= p.info.lower && *p.value <= p.info.upper);
  }
}

void read_a_link(std::string_view text) {
  const MeasuredLink link = read_measured_link_text("fuzz.toml", text);
  for (const CollectiveCurve& c : link.curves) {
    const double seconds = cost(c, Bytes{1e6}).time.value;
    require(std::isfinite(seconds) && seconds > 0 && c.ranks >= 2);
  }
}

void read_a_link_name(std::string_view text) {
  const std::string name(text.substr(0, 200));
  const auto parsed = parse_link_class(name);
  if (!parsed) return;
  LinkFacts facts;
  facts.name = name;
  facts.link_class = parsed;
  const auto curve = link_curve(facts, {CollectiveKind::all_reduce, 8, 1});
  require(curve.has_value() && std::isfinite(curve->curve.parameters.busbw_GBps));
  require(curve->curve.parameters.busbw_GBps > 0);
}

Seeds link_names() {
  return {"pcie4-x16-nop2p",
          "nvlink3-nvswitch+8x200G-ib",
          "nvlink2-bridge-pcie3-nop2p",
          "pcie4-x8-p2p@12.5",
          "nvlink4-nvswitch+8x400G-ib@44"};
}

void read_a_model(std::string_view text) {
  const ModelShape shape = read_model_text("fuzz.toml", text);
  require(problems(shape).empty() && parameter_count(shape) > 0);
}

void read_prices(std::string_view text) {
  const PriceList list = read_price_list_text("fuzz.toml", text);
  Prices prices;
  complete_prices(prices, list, "h200-sxm");
  require(!prices.rent_per_gpu_hour || std::isfinite(*prices.rent_per_gpu_hour));
}

void read_an_error(std::string_view text) {
  const ModelError error = read_model_error_text("fuzz.toml", std::string(text));
  for (const double sd : error.sd) require(std::isfinite(sd) && sd >= 0);
  require(error.low <= 0 && error.high >= 0);
}

void read_a_shape_table(std::string_view text) {
  const ShapeTable table = read_shapes("fuzz.csv", text);
  require(table.rows.size() == table.shapes.size());
}

Seeds shape_tables() {
  return {"op,m,n,k,dtype,layout\ngemm,64,128,256,bf16,TN\ngemm,8192,8192,8192,fp8,NT\n",
          "op,bytes,gpus\nall_reduce,1048576,8\nh2d,1000,1\n",
          "op,rows,cols,dtype\ngelu,16,32,fp32\n",
          "op,batch,heads,kv_heads,seq,head_dim,causal\nattention,2,8,4,512,64,true\n",
          "op,batch,channels,size,out,kernel,stride,groups\nconv,8,64,56,64,3,1,1\n"};
}

template <typename Points>
void require_times(const Points& points) {
  for (const auto& p : points) require(std::isfinite(p.time_us) && p.time_us > 0);
}

// Each layout of measurements, whichever the text is.
template <auto Read>
void read_measured(std::string_view text) {
  Measurements m;
  m.sources = {"fuzz"};
  Read("fuzz_8gpu.csv", text, 0, m);
  require_times(m.gemms);
  require_times(m.attentions);
  require_times(m.passes);
  require_times(m.convolutions);
  require_times(m.copies);
  require_times(m.collectives);
  require_times(m.hosts);
}

Seeds measurement_seeds() {
  return {R"({"schema": 1, "tool": "calibrate_gemm", "points": [
{"op": "gemm", "m": 64, "n": 128, "k": 256, "dtype": "bf16", "layout": "NT", "median_us": 5.5, "samples": 9},
{"op": "attention_backward", "batch": 2, "heads": 8, "kv_heads": 4, "seq": 512, "head_dim": 64, "causal": true,
 "dtype": "bf16", "median_us": 40},
{"op": "gelu", "rows": 16, "cols": 32, "dtype": "fp32", "median_us": 2},
{"op": "h2d", "bytes": 1000000, "median_us": 30}, {"op": "all_reduce", "ranks": 4, "bytes": 1048576, "median_us": 60},
{"op": "copy_under_compute", "rate": 0.9}]})"};
}
Seeds operator_line_seeds() {
  return {
      R"({"op": "sdpa_causal", "B": 1, "heads": 8, "kv": 8, "T": 64, "hd": 64, "fwd_ms": 0.05, "bwd_ms": 0.4})"
      "\n"
      R"({"op": "copy", "bytes": 100, "ms": 1})"
      "\n"};
}
Seeds gemm_table_seeds() {
  return {"m,n,k,dtype,time_us\n64,128,256,bf16,5.5\n4096,4096,4096,float16,900\n"};
}
Seeds sweep_seeds() {
  return {"size_bytes,op,type,time_us\n1024,all_reduce,float,21.3\n1048576,all_reduce,float,60\n"};
}

Seeds profiles() {
  return shipped("profiles");
}
Seeds links() {
  return shipped("links");
}
Seeds models() {
  return shipped("models");
}
Seeds prices() {
  return shipped("prices");
}
Seeds errors() {
  return shipped("errors");
}

constexpr std::array<FuzzReader, 11> readers{{
    {"profile", read_a_profile, profiles},
    {"link_file", read_a_link, links},
    {"link_name", read_a_link_name, link_names},
    {"model_file", read_a_model, models},
    {"price_list", read_prices, prices},
    {"model_error", read_an_error, errors},
    {"shape_csv", read_a_shape_table, shape_tables},
    {"measurement_json", read_measured<read_measurement_json>, measurement_seeds},
    {"measured_operators", read_measured<read_host_timed_operators>, operator_line_seeds},
    {"gemm_table", read_measured<read_gemm_table>, gemm_table_seeds},
    {"collective_sweep", read_measured<read_collective_sweep>, sweep_seeds},
}};

}  // namespace

std::span<const FuzzReader> data_fuzz_readers() {
  return readers;
}

}  // namespace stepsight
