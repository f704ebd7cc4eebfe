#include "model/io/profile_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "model/class_profile.h"
#include "model/errors.h"
#include "model/io/builtin.h"
#include "model/io/csv.h"
#include "model/io/read_file.h"
#include "model/io/table.h"
#include "model/nearest.h"

namespace stepsight {

namespace {

constexpr std::size_t largest_profile = 64 * megabyte;
constexpr std::string_view builtin_prefix = "built-in:";
constexpr std::string_view collective_prefix = "collective.";

void read_figures(Table& table, GpuProfile& gpu) {
  gpu.title = table.require_string("title");
  gpu.driver_name = table.optional_string("driver_name").value_or("");
  gpu.like = table.optional_string("like").value_or("");
  gpu.multiprocessors = static_cast<int>(table.require_int("multiprocessors", 1, 10000));
  gpu.memory_bytes = table.require_number("memory_GB", 0.1, 1e5) * 1e9;
  gpu.l2_bytes = table.require_number("l2_MB", 0, 1e5) * 1e6;
  gpu.hbm_TBps = table.require_number("hbm_TBps", 0, 1000);
  gpu.power_W = table.optional_number("power_W", 1, 100000).value_or(0);
  gpu.pcie_GBps = table.optional_number("pcie_GBps", 0.01, 10000).value_or(0);
  Table rates = table.sub_table("dense_TFLOPS");
  for (const DtypeInfo& type : dtypes) {
    gpu.vendor_TFLOPS[static_cast<std::size_t>(type.dtype)] =
        rates.optional_number(type.name, 0.001, 1e6).value_or(0);
  }
  rates.finish();
}

// collective.LINK.KIND.RANKS.PARAMETER, split; nothing when it is not of that form. A link may have
// dots in its name.
struct CollectiveName {
  std::string link;
  CollectiveKind kind;
  std::int64_t ranks;
  std::string_view parameter;
};

std::optional<CollectiveName> parse_collective_name(std::string_view name) {
  if (!name.starts_with(collective_prefix)) return std::nullopt;
  std::string_view rest = name.substr(collective_prefix.size());
  std::array<std::string_view, 3> last;  // parameter, ranks, kind
  for (std::string_view& part : last) {
    const std::size_t dot = rest.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    part = rest.substr(dot + 1);
    rest = rest.substr(0, dot);
  }
  const auto [parameter, ranks, kind_name] = last;
  const auto kind = parse_collective(kind_name);
  const bool digits = !ranks.empty() && ranks.size() < 9 &&
                      std::ranges::all_of(ranks, [](char c) { return c >= '0' && c <= '9'; });
  if (!kind || !digits || rest.empty()) return std::nullopt;
  return CollectiveName{std::string(rest), *kind, std::stoll(std::string(ranks)), parameter};
}

std::string name_of(const CollectiveCurve& curve, std::string_view parameter) {
  return fmt::format("{}{}.{}.{}.{}",
                     collective_prefix,
                     curve.link,
                     info(curve.kind).name,
                     curve.ranks,
                     parameter);
}

CollectiveCurve& curve_of(GpuProfile& gpu, const CollectiveName& name) {
  for (CollectiveCurve& curve : gpu.collectives) {
    if (curve.link == name.link && curve.kind == name.kind && curve.ranks == name.ranks)
      return curve;
  }
  CollectiveCurve curve;
  curve.link = name.link;
  curve.kind = name.kind;
  curve.ranks = name.ranks;
  curve.parameters = class_values<CollectiveParameters>();
  return gpu.collectives.emplace_back(std::move(curve));
}

ParameterRecord read_record(const std::string& name, Table& row, const ParameterInfo& info) {
  ParameterRecord r;
  r.name = name;
  r.value = row.require_number("value", info.lower, info.upper);
  r.sd = row.require_number("sd", 0);
  r.points = static_cast<int>(row.require_int("points", 0, 1000000000));
  r.source = row.require_string("source");
  row.finish();
  return r;
}

void read_collective_parameter(const std::string& key,
                               const CollectiveName& name,
                               Table& row,
                               Table& parameters,
                               GpuProfile& gpu) {
  for (const auto& field : CollectiveParameters<double>::fields()) {
    if (field.info.name != name.parameter) continue;
    const ParameterRecord r = read_record(key, row, field.info);
    CollectiveCurve& curve = curve_of(gpu, name);
    curve.parameters.*field.member = r.value;
    curve.source = r.source;
    gpu.records.push_back(r);
    return;
  }
  parameters.mistake(key, "no collective has the parameter '" + std::string(name.parameter) + "'");
}

// A curve that is named at all must have every parameter: a class value in its place would pass
// for a measured one.
void require_whole_curves(Table& parameters, const GpuProfile& gpu) {
  std::set<std::string_view> given;
  for (const ParameterRecord& r : gpu.records) given.insert(r.name);
  for (const CollectiveCurve& curve : gpu.collectives) {
    for (const auto& field : CollectiveParameters<double>::fields()) {
      const std::string name = name_of(curve, field.info.name);
      if (!given.contains(name)) {
        parameters.mistake("", "the parameter '" + name + "' is missing");
      }
    }
  }
}

void read_parameters(Table& parameters, GpuProfile& gpu) {
  const std::vector<NamedParameter> named = named_parameters(gpu);
  std::map<std::string_view, const NamedParameter*> missing;
  std::vector<std::string_view> names;
  for (const NamedParameter& p : named) {
    missing[p.name] = &p;
    names.emplace_back(p.name);
  }
  for (const std::string& key : parameters.keys()) {
    Table row = parameters.sub_table(key);
    if (const auto collective = parse_collective_name(key)) {
      read_collective_parameter(key, *collective, row, parameters, gpu);
      continue;
    }
    const auto found = missing.find(key);
    if (found == missing.end()) {
      const auto close = nearest(key, names);
      const std::string hint = close ? "; did you mean '" + std::string(*close) + "'?" : "";
      parameters.mistake(key, "unknown parameter '" + key + "'" + hint);
      continue;
    }
    gpu.records.push_back(read_record(key, row, found->second->info));
    *found->second->value = gpu.records.back().value;
    missing.erase(found);
  }
  for (const auto& [name, parameter] : missing) {
    parameters.mistake("", "the parameter '" + std::string(name) + "' is missing");
  }
  require_whole_curves(parameters, gpu);
}

void read_quality(Table& fit, GpuProfile& gpu) {
  for (const std::string& key : fit.keys()) {
    Table row = fit.sub_table(key);
    FitQuality q;
    q.group = key;
    q.fitted_points = static_cast<int>(row.require_int("fitted", 0, 1000000000));
    q.held_out_points = static_cast<int>(row.require_int("held_out", 0, 1000000000));
    q.fitted_median_error = row.require_number("formula_median", 0);
    q.held_out_median_error = row.require_number("held_out_median", 0);
    q.held_out_p90_error = row.require_number("held_out_p90", 0);
    row.finish();
    gpu.quality.push_back(q);
  }
}

// --- points -----------------------------------------------------------------------------------

using Samples = std::vector<MeasuredSurface::Sample>;

struct SurfaceSamples {
  std::array<Samples, dtypes.size()> gemm;
  std::array<Samples, 2> attention;
  std::array<Samples, 3> convolution;
  std::array<Samples, passes.size()> pass;
  std::map<std::size_t, std::vector<MeasuredCurve::Sample>> collective;
};

bool place(const PointRow& p, GpuProfile& gpu, SurfaceSamples& into) {
  const auto residual = static_cast<float>(p.log_residual);
  const auto& s = p.shape;
  if (p.op == "gemm") {
    const auto type = parse_dtype(p.type);
    if (!type || s[4] < 0 || s[4] > 2) return false;
    const Gemm gemm{s[0], s[1], s[2], s[3], *type, static_cast<Layout>(s[4])};
    into.gemm[static_cast<std::size_t>(*type)].push_back({surface_point(gemm), residual});
    return true;
  }
  if (p.op == "attention" || p.op == "attention_backward") {
    const bool backward = p.op == "attention_backward";
    if (s[2] < 1) return false;
    const Attention a{
        s[0], s[1], s[2], s[3], s[4], (s[5] & 1) != 0, backward, (s[5] & 2) != 0, Dtype::bf16};
    into.attention[backward ? 1 : 0].push_back({surface_point(a), residual});
    return true;
  }
  for (std::size_t i = 0; i < convolution_names.size(); ++i) {
    if (p.op != convolution_names[i]) continue;
    constexpr std::int64_t widest = 1 << 20;  // products of sizes stay far from overflow
    if (s[3] < 1 || s[4] < 1 || s[1] < s[3] || std::ranges::max(s) > widest) return false;
    const Convolution c{s[5], s[0], s[1], s[1], s[2], s[3], s[3], s[4], s[3] / 2};
    into.convolution[i].push_back({surface_point(c), residual});
    return true;
  }
  if (const auto kind = parse_pass(p.op)) {
    if (s[5] < 0 || s[5] >= static_cast<std::int64_t>(dtypes.size())) return false;
    const Pass pass{*kind, s[0], s[1], static_cast<Dtype>(s[5])};
    into.pass[static_cast<std::size_t>(*kind)].push_back({surface_point(pass), residual});
    return true;
  }
  const auto kind = parse_collective(p.op);
  for (std::size_t i = 0; kind && i < gpu.collectives.size(); ++i) {
    const CollectiveCurve& c = gpu.collectives[i];
    if (c.kind != *kind || c.link != p.type || c.ranks != s[0]) continue;
    into.collective[i].push_back(
        {static_cast<double>(std::max<std::int64_t>(s[1], 1)), p.log_residual});
    return true;
  }
  return false;
}

void build_surfaces(SurfaceSamples& samples, GpuProfile& gpu) {
  for (std::size_t i = 0; i < samples.gemm.size(); ++i) {
    gpu.gemm_points[i] = MeasuredSurface(std::move(samples.gemm[i]), Interpolation::average);
  }
  for (std::size_t i = 0; i < samples.attention.size(); ++i) {
    gpu.attention_points[i] = MeasuredSurface(std::move(samples.attention[i]));
  }
  for (std::size_t i = 0; i < samples.convolution.size(); ++i) {
    gpu.convolution_points[i] = MeasuredSurface(std::move(samples.convolution[i]));
  }
  for (std::size_t i = 0; i < samples.pass.size(); ++i) {
    gpu.pass_points[i] = MeasuredSurface(std::move(samples.pass[i]));
  }
  for (auto& [i, list] : samples.collective) {
    gpu.collectives[i].points = MeasuredCurve(std::move(list));
  }
}

constexpr std::array<std::string_view, 6> shape_columns{"a", "b", "c", "d", "e", "f"};

void read_points(const std::string& file, std::string_view text, GpuProfile& gpu) {
  CsvTable table(file, text);
  const std::size_t op = table.column("op");
  const std::size_t type = table.column("type");
  std::array<std::size_t, shape_columns.size()> shape{};
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = table.column(shape_columns[i]);
  const std::size_t time = table.column("time_us");
  const std::size_t residual = table.column("log_residual");
  table.check_columns();
  SurfaceSamples samples;
  PointRow p;
  while (table.next()) {
    p.op = table.text(op);
    p.type = table.text(type);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      p.shape[i] = table.integer(shape[i], 0, std::int64_t{1} << 60);
    }
    p.time_us = table.number(time, 0, 1e15);
    p.log_residual = table.number(residual, -20, 20);
    if (!place(p, gpu, samples)) table.mistake(op, "no such operator, type or collective here");
  }
  table.finish();
  build_surfaces(samples, gpu);
}

std::string points_file_name(std::string_view profile_file) {
  return std::string(profile_file.substr(0, profile_file.size() - 5)) + ".points.csv";
}

void read_points_beside(const std::string& profile_file, GpuProfile& gpu) {
  if (profile_file.starts_with(builtin_prefix)) {
    const std::string name = points_file_name(profile_file.substr(builtin_prefix.size()));
    if (const auto text = builtin_file(name)) {
      read_points(std::string(builtin_prefix) + name, *text, gpu);
    }
    return;
  }
  if (!profile_file.ends_with(".toml")) return;
  const std::string name = points_file_name(profile_file);
  if (!std::filesystem::exists(name)) return;
  read_points(name, read_file(name, largest_profile, "a table of points"), gpu);
}

// Shortest text that reads back to the same double.
std::string number(double value) {
  return fmt::format("{}", value);
}

// A TOML basic string: control characters must be escaped.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) {
      out += fmt::format("\\u{:04x}", code);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// The card whose utilisation stands in for cards that nobody measured.
constexpr std::string_view reference_card = "h200-sxm";

}  // namespace

GpuProfile read_gpu(const std::string& name) {
  const NamedFile file = find_named_file("gpus", name, ".toml");
  const Value root = parse_toml(file.path, file.text);
  ErrorList errors(file.path);
  Table table(root, errors);
  GpuProfile gpu;
  gpu.name = std::filesystem::path(name).stem().string();
  read_figures(table, gpu);
  table.finish();
  errors.throw_if_any();
  return gpu;
}

GpuProfile read_profile(const std::string& name) {
  const auto fitted = find_named_file_if_any("profiles", name, ".toml");
  if (!fitted && find_named_file_if_any("gpus", name, ".toml")) {
    const GpuProfile figures = read_gpu(name);
    const bool fitted_like = !figures.like.empty() &&
                             find_named_file_if_any("profiles", figures.like, ".toml").has_value();
    return class_profile(figures,
                         read_profile(fitted_like ? figures.like : std::string(reference_card)));
  }
  const NamedFile file = fitted ? *fitted : find_named_file("profiles", name, ".toml");
  GpuProfile gpu = read_profile_text(file.path, file.text);
  read_points_beside(file.path, gpu);
  return gpu;
}

GpuProfile read_profile_text(const std::string& path, std::string_view text) {
  const Value root = parse_toml(path, text);
  ErrorList errors(path);
  Table table(root, errors);
  GpuProfile gpu;
  table.require_int("schema", 1, 1);
  Table figures = table.sub_table("gpu");
  gpu.name = figures.require_string("name");
  read_figures(figures, gpu);
  figures.finish();
  gpu.sources = table.strings("sources");
  Table parameters = table.sub_table("parameters");
  read_parameters(parameters, gpu);
  Table fit = table.sub_table("fit");
  read_quality(fit, gpu);
  table.finish();
  errors.throw_if_any();
  return gpu;
}

std::string profile_text(const GpuProfile& profile) {
  std::string out =
      "# Written by `stepsight fit`. Every parameter: value, standard deviation, number of points\n"
      "# behind it (0: a class value) and where it comes from. The measured points themselves are "
      "in\n"
      "# the file of the same name that ends in .points.csv.\n"
      "schema = 1\n";
  out += "sources = [";
  for (const std::string& s : profile.sources) out += "\n  " + quoted(s) + ",";
  out += "\n]\n\n[gpu]\n";
  out += "name = " + quoted(profile.name) + "\ntitle = " + quoted(profile.title) + "\n";
  out += fmt::format("multiprocessors = {}\nmemory_GB = {}\nl2_MB = {}\nhbm_TBps = {}\n",
                     profile.multiprocessors,
                     number(profile.memory_bytes / 1e9),
                     number(profile.l2_bytes / 1e6),
                     number(profile.hbm_TBps));
  if (profile.pcie_GBps > 0) out += fmt::format("pcie_GBps = {}\n", number(profile.pcie_GBps));
  if (profile.power_W > 0) out += fmt::format("power_W = {}\n", number(profile.power_W));
  out += "\n[gpu.dense_TFLOPS]\n";
  for (const DtypeInfo& type : dtypes) {
    const double rate = profile.vendor_TFLOPS[static_cast<std::size_t>(type.dtype)];
    if (rate > 0) out += fmt::format("{} = {}\n", type.name, number(rate));
  }
  out += "\n[parameters]\n";
  for (const ParameterRecord& r : profile.records) {
    out += fmt::format("{} = {{ value = {}, sd = {}, points = {}, source = {} }}\n",
                       quoted(r.name),
                       number(r.value),
                       number(r.sd),
                       r.points,
                       quoted(r.source));
  }
  out +=
      "\n# Errors are of |predicted / measured - 1|. formula_median: the formula alone on the "
      "points it\n"
      "# was fitted to; held_out_*: formula and points on shapes that neither had seen.\n[fit]\n";
  for (const FitQuality& q : profile.quality) {
    out += fmt::format(
        "{} = {{ fitted = {}, held_out = {}, formula_median = {:.4f}, held_out_median = {:.4f}, "
        "held_out_p90 = {:.4f} }}\n",
        quoted(q.group),
        q.fitted_points,
        q.held_out_points,
        q.fitted_median_error,
        q.held_out_median_error,
        q.held_out_p90_error);
  }
  return out;
}

std::string points_text(std::span<const PointRow> points) {
  std::string out = "op,type,a,b,c,d,e,f,time_us,log_residual\n";
  for (const PointRow& p : points) {
    fmt::format_to(std::back_inserter(out),
                   "{},{},{},{},{},{},{},{},{:.6g},{:.5f}\n",
                   p.op,
                   p.type,
                   p.shape[0],
                   p.shape[1],
                   p.shape[2],
                   p.shape[3],
                   p.shape[4],
                   p.shape[5],
                   p.time_us,
                   p.log_residual);
  }
  return out;
}

}  // namespace stepsight
