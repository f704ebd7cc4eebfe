#include "reports/link_report.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/json_parts.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

constexpr std::array<double, 8> sizes{
    65536, 262144, 1048576, 4194304, 16777216, 67108864, 268435456, 1073741824};

std::string size_name(double bytes) {
  if (bytes >= 1073741824) return fmt::format("{:.3g} GiB", bytes / 1073741824);
  if (bytes >= 1048576) return fmt::format("{:.3g} MiB", bytes / 1048576);
  if (bytes >= 1024) return fmt::format("{:.3g} KiB", bytes / 1024);
  return fmt::format("{:.3g} B", bytes);
}

std::string group_name(const CollectiveGroup& g) {
  if (g.nodes == 1) return fmt::format("{} GPUs", g.ranks);
  return fmt::format("{}x{} GPUs", g.nodes, g.ranks / g.nodes);
}

double busbw(const CollectiveCurve& curve, double bytes) {
  return bytes * traffic_factor(curve.kind, curve.ranks) / cost(curve, Bytes{bytes}).time.value /
         1e9;
}

std::string all_reduce_table(const LinkFacts& link, const std::vector<CollectiveGroup>& groups) {
  std::vector<LinkCurve> curves;
  TextTable table;
  table.columns.push_back({"message", Align::right});
  for (const CollectiveGroup& g : groups) {
    table.columns.push_back({group_name(g), Align::right});
    curves.push_back(*link_curve(link, g));
  }
  for (const double bytes : sizes) {
    std::vector<std::string> row{size_name(bytes)};
    for (const LinkCurve& c : curves) row.push_back(format_significant(busbw(c.curve, bytes)));
    table.rows.push_back(std::move(row));
  }
  std::string out = "Bus bandwidth of an all-reduce, GB/s\n" + table.text();
  std::string last;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::string from = std::string(describe(curves[i].origin));
    if (from != last) out += fmt::format("{}: {}\n", group_name(groups[i]), from);
    last = std::move(from);
  }
  return out;
}

std::string others_table(const LinkFacts& link, const std::vector<CollectiveGroup>& groups) {
  constexpr double bytes = 268435456;
  TextTable table;
  table.columns.push_back({"collective", Align::left});
  for (const CollectiveGroup& g : groups) table.columns.push_back({group_name(g), Align::right});
  for (const CollectiveInfo& kind : collectives) {
    std::vector<std::string> row{std::string(kind.name)};
    for (CollectiveGroup g : groups) {
      g.kind = kind.kind;
      row.push_back(format_significant(busbw(link_curve(link, g)->curve, bytes)));
    }
    table.rows.push_back(std::move(row));
  }
  return "All collectives at " + size_name(bytes) + ", GB/s\n" + table.text();
}

}  // namespace

std::vector<CollectiveGroup> groups_to_show(const LinkFacts& link, CollectiveKind kind) {
  constexpr std::size_t most = 8;
  std::vector<CollectiveGroup> out;
  if (link.measured) {
    for (const CollectiveCurve& c : link.measured->curves) {
      const std::int64_t per_node = link.measured->gpus_per_node;
      if (c.kind == kind) out.push_back({kind, c.ranks, (c.ranks + per_node - 1) / per_node});
    }
    if (!out.empty()) {
      out.resize(std::min(out.size(), most));
      return out;
    }
  }
  const LinkClass* by_class = link.link_class ? &*link.link_class
                              : link.measured ? &link.measured->link_class
                                              : nullptr;
  if (by_class == nullptr) return out;
  if (by_class->fabric.kind == NetworkKind::none) {
    const std::int64_t gpus = by_class->machine ? by_class->machine->gpus : 8;
    for (std::int64_t n = 2; n <= gpus; n *= 2) out.push_back({kind, n, 1});
    if (out.empty() || out.back().ranks != gpus) out.push_back({kind, gpus, 1});
  } else {
    for (const std::int64_t nodes : {1, 2, 4, 8}) {
      out.push_back({kind, nodes * by_class->domain, nodes});
    }
  }
  return out;
}

std::string link_report_text(const LinkFacts& link) {
  std::string out = link.name;
  if (link.measured) {
    out += fmt::format("\n{}\nclass {}, for what was not measured\n",
                       link.measured->title,
                       link.measured->link_class_name);
  } else {
    out += "\na link class: nobody has measured it, figures are good to +-40 %\n";
  }
  const auto groups = groups_to_show(link, CollectiveKind::all_reduce);
  out += "\n" + all_reduce_table(link, groups) + "\n" + others_table(link, groups);
  if (link.measured) {
    out += "\nMeasured in\n";
    for (const std::string& source : link.measured->sources) out += "  " + source + "\n";
  }
  return out;
}

std::string link_report_json(const LinkFacts& link) {
  nlohmann::ordered_json out;
  out["link"] = link.name;
  if (link.measured) {
    out["title"] = link.measured->title;
    out["class"] = link.measured->link_class_name;
    out["sources"] = link.measured->sources;
  }
  out["curves"] = nlohmann::ordered_json::array();
  for (const CollectiveInfo& kind : collectives) {
    for (const CollectiveGroup& g : groups_to_show(link, kind.kind)) {
      const LinkCurve c = *link_curve(link, g);
      nlohmann::ordered_json curve{{"collective", kind.name},
                                   {"ranks", g.ranks},
                                   {"nodes", g.nodes},
                                   {"origin", describe(c.origin)},
                                   {"latency_us", c.curve.parameters.latency_us},
                                   {"ramp_us", c.curve.parameters.ramp_us},
                                   {"busbw_GBps", c.curve.parameters.busbw_GBps}};
      for (const double bytes : sizes) {
        curve["points"].push_back({{"bytes", bytes}, {"busbw_GBps", busbw(c.curve, bytes)}});
      }
      out["curves"].push_back(std::move(curve));
    }
  }
  return json_text(out, 2) + "\n";
}

std::string link_verdict_text(const LinkFacts& link,
                              const CollectiveGroup& group,
                              const LinkVerdict& verdict) {
  std::string out = wrap(fmt::format("{}: {} of the bus bandwidth that {} has over {} ({})",
                                     describe(verdict.health),
                                     format_percent(verdict.ratio, 0),
                                     link.name,
                                     group_name(group),
                                     describe(verdict.origin))) +
                    "\n\n";
  TextTable table;
  table.columns = {{"message", Align::right}, {"measured GB/s"}, {"expected GB/s"}, {"ratio"}};
  for (const LinkComparison& row : verdict.rows) {
    table.rows.push_back({size_name(row.bytes),
                          format_significant(row.measured_GBps),
                          format_significant(row.expected_GBps),
                          fmt::format("{:.2f}", row.measured_GBps / row.expected_GBps)});
  }
  out += table.text();
  if (!verdict.causes.empty()) out += "\nLikely causes, most likely first\n";
  for (const std::string& cause : verdict.causes) out += wrap("- " + cause) + "\n";
  return out;
}

std::string link_verdict_json(const LinkFacts& link,
                              const CollectiveGroup& group,
                              const LinkVerdict& verdict) {
  nlohmann::ordered_json out{{"link", link.name},
                             {"collective", info(group.kind).name},
                             {"ranks", group.ranks},
                             {"nodes", group.nodes},
                             {"verdict", describe(verdict.health)},
                             {"ratio", verdict.ratio},
                             {"latency_ratio", verdict.latency_ratio},
                             {"expected_from", describe(verdict.origin)},
                             {"causes", verdict.causes}};
  for (const LinkComparison& row : verdict.rows) {
    out["points"].push_back({{"bytes", row.bytes},
                             {"measured_GBps", row.measured_GBps},
                             {"expected_GBps", row.expected_GBps}});
  }
  return json_text(out, 2) + "\n";
}

}  // namespace stepsight
