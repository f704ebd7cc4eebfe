#include "model/io/link_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "model/errors.h"
#include "model/io/builtin.h"
#include "model/io/csv.h"
#include "model/io/read_file.h"
#include "model/io/table.h"
#include "model/io/topo_matrix.h"
#include "model/topology_network.h"

namespace stepsight {

namespace {

constexpr std::size_t largest_file = 64 * megabyte;
constexpr std::string_view builtin_prefix = "built-in:";

std::optional<std::int64_t> ranks_of(const std::string& key) {
  const bool digits = !key.empty() && key.size() < 8 &&
                      std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return std::nullopt;
  const std::int64_t ranks = std::stoll(key);
  return ranks >= 2 ? std::optional(ranks) : std::nullopt;
}

CollectiveCurve read_curve(Table& row,
                           const std::string& link,
                           CollectiveKind kind,
                           std::int64_t ranks,
                           FitQuality& quality) {
  CollectiveCurve c;
  c.link = link;
  c.kind = kind;
  c.ranks = ranks;
  for (const auto& field : CollectiveParameters<double>::fields()) {
    c.parameters.*field.member =
        row.require_number(field.info.name, field.info.lower, field.info.upper);
  }
  row.numbers("sd", 0);
  quality.group = fmt::format("{}.{}", info(kind).name, ranks);
  quality.fitted_points = static_cast<int>(row.require_int("points", 0, 1000000000));
  quality.held_out_points =
      static_cast<int>(row.optional_int("held_out", 0, 1000000000).value_or(0));
  quality.fitted_median_error = row.optional_number("formula_median", 0).value_or(0);
  quality.held_out_median_error = row.optional_number("held_out_median", 0).value_or(0);
  quality.held_out_p90_error = row.optional_number("held_out_p90", 0).value_or(0);
  c.source = row.require_string("source");
  row.finish();
  return c;
}

void read_curves(Table& table, MeasuredLink& link) {
  for (const CollectiveInfo& kind : collectives) {
    Table groups = table.sub_table(kind.name);
    for (const std::string& key : groups.keys()) {
      const auto ranks = ranks_of(key);
      Table row = groups.sub_table(key);
      if (!ranks) {
        groups.mistake(key, "'" + key + "' must be a number of ranks from 2 on");
        continue;
      }
      FitQuality quality;
      link.curves.push_back(read_curve(row, link.name, kind.kind, *ranks, quality));
      link.quality.push_back(quality);
    }
    groups.finish();
  }
}

void read_points(const std::string& file, std::string_view text, MeasuredLink& link) {
  CsvTable table(file, text);
  const std::size_t kind = table.column("kind");
  const std::size_t ranks = table.column("ranks");
  const std::size_t bytes = table.column("bytes");
  const std::size_t residual = table.column("log_residual");
  table.check_columns();
  std::map<std::pair<std::string, std::int64_t>, std::vector<MeasuredCurve::Sample>> samples;
  while (table.next()) {
    const double size = table.number(bytes, 1, 1e18);
    samples[{std::string(table.text(kind)), table.integer(ranks, 2, 10000000)}].push_back(
        {size, table.number(residual, -20, 20)});
  }
  table.finish();
  for (CollectiveCurve& c : link.curves) {
    const auto own = samples.find({std::string(info(c.kind).name), c.ranks});
    if (own != samples.end()) c.points = MeasuredCurve(std::move(own->second));
  }
}

std::string points_file_name(std::string_view link_file) {
  return std::string(link_file.substr(0, link_file.size() - 5)) + ".points.csv";
}

void read_points_beside(const std::string& path, MeasuredLink& link) {
  if (path.starts_with(builtin_prefix)) {
    const std::string name = points_file_name(path.substr(builtin_prefix.size()));
    if (const auto text = builtin_file(name)) read_points(path, *text, link);
    return;
  }
  if (!path.ends_with(".toml")) return;
  const std::string name = points_file_name(path);
  if (std::filesystem::exists(name)) {
    read_points(name, read_file(name, largest_file, "a table of points"), link);
  }
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string deviations(const MeasuredLink& link,
                       const CollectiveCurve& curve,
                       std::span<const ParameterRecord> records) {
  std::string out;
  for (const auto& field : CollectiveParameters<double>::fields()) {
    const std::string name = fmt::format(
        "collective.{}.{}.{}.{}", link.name, info(curve.kind).name, curve.ranks, field.info.name);
    for (const ParameterRecord& r : records) {
      if (r.name == name) out += fmt::format("{}{:.3g}", out.empty() ? "" : ", ", r.sd);
    }
  }
  return out;
}

// With a graph of the machine's own, the name stands for what the graph does not say.
std::shared_ptr<LinkFacts> class_facts(const std::string& name, std::string_view with) {
  auto facts = std::make_shared<LinkFacts>();
  facts->name = name;
  facts->link_class = name.empty() ? LinkClass{} : parse_link_class(name);
  if (!facts->link_class) {
    throw UserError(
        fmt::format("with {} the link must be a class, such as \"pcie4-x16-nop2p\", "
                    "which says what the file does not: generation, lanes and P2P; got \"{}\"",
                    with,
                    name));
  }
  return facts;
}

}  // namespace

MeasuredLink read_measured_link_text(const std::string& path, std::string_view text) {
  const Value root = parse_toml(path, text);
  ErrorList errors(path);
  Table table(root, errors);
  MeasuredLink link;
  link.name = std::filesystem::path(path).stem().string();
  table.require_int("schema", 1, 1);
  link.title = table.require_string("title");
  link.link_class_name = table.require_string("class");
  if (const auto parsed = parse_link_class(link.link_class_name)) {
    link.link_class = *parsed;
  } else {
    table.mistake("class", "'class' must be the name of a link class, such as \"pcie4-x16-p2p\"");
  }
  link.gpus_per_node = table.require_int("gpus_per_node", 1, 100000);
  link.sources = table.strings("sources");
  read_curves(table, link);
  table.finish();
  errors.throw_if_any();
  return link;
}

std::optional<MeasuredLink> read_measured_link(const std::string& name) {
  const auto file = find_named_file_if_any("links", name, ".toml");
  if (!file) return std::nullopt;
  MeasuredLink link = read_measured_link_text(file->path, file->text);
  read_points_beside(file->path, link);
  return link;
}

std::shared_ptr<const LinkFacts> find_link(const std::string& name, const std::string& topo_file) {
  if (!topo_file.empty()) {
    auto facts = class_facts(name, "a topology file");
    facts->link_class->machine =
        std::make_shared<const Topology>(read_topo_matrix(topo_file, *facts->link_class));
    return facts;
  }
  auto facts = std::make_shared<LinkFacts>();
  facts->name = name;
  const LinkName split = split_limit(name);
  facts->link_class = parse_link_class(name);
  if (split.busbw_GBps == 0 && !name.empty()) facts->measured = read_measured_link(name);
  if (!facts->link_class && !facts->measured && split.busbw_GBps > 0) {
    // "rtx4090-p2p@20": a measured machine's class with a bandwidth of the user's.
    if (const auto measured = read_measured_link(split.name)) {
      facts->link_class = measured->link_class;
      facts->link_class->busbw_GBps = split.busbw_GBps;
    }
  }
  return facts;
}

std::shared_ptr<const LinkFacts> find_link(const std::string& name, const TopologyTable& table) {
  auto facts = class_facts(name, "[cluster.topology]");
  auto machine = std::make_shared<const Topology>(table_topology(table, *facts->link_class));
  if (has_network(*machine) && facts->link_class->fabric.kind != NetworkKind::none) {
    throw UserError(
        "[cluster.topology] has the network's adapters: leave out what stands behind "
        "'+' in the link's name");
  }
  facts->link_class->machine = std::move(machine);
  return facts;
}

std::vector<std::string> measured_link_names() {
  return known_names("links", ".toml");
}

std::string measured_link_text(const MeasuredLink& link, std::span<const ParameterRecord> records) {
  std::string out =
      "# Written by `stepsight fit --link-only`: collectives as measured on one class of machine.\n"
      "schema = 1\n";
  out += fmt::format("title = {}\nclass = {}\ngpus_per_node = {}\nsources = [",
                     toml_string(link.title),
                     toml_string(link.link_class_name),
                     link.gpus_per_node);
  for (const std::string& source : link.sources) out += "\n  " + toml_string(source) + ",";
  out += "\n]\n";
  for (std::size_t i = 0; i < link.curves.size(); ++i) {
    const CollectiveCurve& c = link.curves[i];
    const FitQuality& q = link.quality[i];
    out += fmt::format("\n[{}.{}]\n", info(c.kind).name, c.ranks);
    for (const auto& field : CollectiveParameters<double>::fields()) {
      out += fmt::format("{} = {:.6g}\n", field.info.name, c.parameters.*field.member);
    }
    out += fmt::format("sd = [{}]\npoints = {}\n", deviations(link, c, records), q.fitted_points);
    out += fmt::format(
        "held_out = {}\nformula_median = {:.4f}\n", q.held_out_points, q.fitted_median_error);
    out += fmt::format("held_out_median = {:.4f}\nheld_out_p90 = {:.4f}\n",
                       q.held_out_median_error,
                       q.held_out_p90_error);
    out += fmt::format("source = {}\n", toml_string(c.source));
  }
  return out;
}

std::string measured_link_points_text(std::span<const PointRow> points) {
  std::string out = "kind,ranks,bytes,time_us,log_residual\n";
  for (const PointRow& p : points) {
    out += fmt::format(
        "{},{},{},{:.6g},{:.5f}\n", p.op, p.shape[0], p.shape[1], p.time_us, p.log_residual);
  }
  return out;
}

}  // namespace stepsight
