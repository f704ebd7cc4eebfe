#include "reports/trace_split_report.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/json_parts.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

RankSplit ranks_of(const std::vector<NamedSplit>& ranks) {
  std::vector<StepSplit> splits;
  for (const NamedSplit& r : ranks) splits.push_back(r.split);
  return split_ranks(splits);
}

std::string us(double microseconds) {
  return format_seconds(microseconds * 1e-6);
}

}  // namespace

std::string splits_text(const std::vector<NamedSplit>& ranks) {
  const RankSplit across = ranks_of(ranks);
  TextTable table;
  table.columns = {{"trace", Align::left}, {"step"}, {"compute"}, {"comm."}, {"exposed"}, {"idle"}};
  if (across.matched) table.columns.push_back({"waiting"});
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const StepSplit& s = ranks[i].split;
    const std::string name = std::filesystem::path(ranks[i].file).filename().string();
    table.rows.push_back({name.substr(0, 24),
                          us(s.step),
                          us(s.compute),
                          us(s.communication),
                          us(s.exposed),
                          us(s.idle)});
    if (across.matched) table.rows.back().push_back(us(across.waiting[i]));
  }
  std::string out = table.text();
  for (const NamedSplit& r : ranks) {
    if (!r.split.step_name.empty()) {
      out += wrap(fmt::format("{}: {}, {} kernels, {} collectives.",
                              r.file,
                              r.split.step_name,
                              r.split.kernels,
                              r.split.collectives.size())) +
             "\n";
    }
    for (const std::string& note : r.split.skipped) out += wrap("Left out: " + note) + "\n";
  }
  if (across.matched) out += fmt::format("On the wire the collectives take {}.\n", us(across.wire));
  if (ranks.size() > 1 && !across.matched) {
    out += wrap(
               "The ranks' steps do not hold the same number of collectives: waiting cannot be "
               "told from the wire.") +
           "\n";
  }
  return out +
         "\nstep = compute + exposed + idle\n"
         "comm.    some collective runs, beside compute or alone\n"
         "exposed  communication while nothing else runs\n"
         "idle     no kernel runs: the host, or the data loader\n" +
         (across.matched ? "waiting  of the collectives: for the slowest rank, not for the wire\n"
                         : "");
}

std::string splits_json(const std::vector<NamedSplit>& ranks) {
  const RankSplit across = ranks_of(ranks);
  nlohmann::ordered_json out{{"schema", 1}};
  out["wire_s"] =
      across.matched ? nlohmann::ordered_json(across.wire * 1e-6) : nlohmann::ordered_json(nullptr);
  out["ranks"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const StepSplit& s = ranks[i].split;
    out["ranks"].push_back({{"file", ranks[i].file},
                            {"step", s.step_name},
                            {"step_s", s.step * 1e-6},
                            {"compute_s", s.compute * 1e-6},
                            {"communication_s", s.communication * 1e-6},
                            {"exposed_s", s.exposed * 1e-6},
                            {"idle_s", s.idle * 1e-6},
                            {"waiting_s",
                             across.matched ? nlohmann::ordered_json(across.waiting[i] * 1e-6)
                                            : nlohmann::ordered_json(nullptr)},
                            {"kernels", s.kernels},
                            {"collectives", s.collectives.size()},
                            {"left_out", s.skipped}});
  }
  return json_text(out) + "\n";
}

}  // namespace stepsight
