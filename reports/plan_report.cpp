#include "reports/plan_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/parallel_layout.h"
#include "reports/json_parts.h"
#include "reports/money_report.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(Strategy s) {
  return strategy_names[static_cast<std::size_t>(s)];
}
std::string_view name_of(PipelineSchedule s) {
  return schedule_names[static_cast<std::size_t>(s)];
}
std::string_view name_of(Recompute r) {
  return recompute_names[static_cast<std::size_t>(r)];
}

std::size_t count(const PlanResult& r, Fate fate) {
  return r.counts[static_cast<std::size_t>(fate)];
}

std::string counts_text(const PlanResult& r, const Words& words) {
  const auto n = [&](Fate fate) { return format_count(static_cast<double>(count(r, fate))); };
  return wrap(words("plan.counts",
                    fmt::arg("all", format_count(static_cast<double>(r.candidates.size()))),
                    fmt::arg("impossible", n(Fate::impossible)),
                    fmt::arg("states", n(Fate::states)),
                    fmt::arg("memory", n(Fate::memory)),
                    fmt::arg("limits", n(Fate::limits)),
                    fmt::arg("bound", n(Fate::bound)),
                    fmt::arg("simulated", n(Fate::simulated)))) +
         "\n";
}

std::string currency_of(const PlanReport& report) {
  const std::string& given = report.space.bases.front().cost.currency;
  return given.empty() ? "USD" : given;
}

// Whether the bases differ in a text.
template <typename Get>
bool differ(const PlanReport& report, Get get) {
  return std::ranges::any_of(report.space.bases, [&](const Scenario& s) {
    return get(s) != get(report.space.bases.front());
  });
}

std::string groups_table(const PlanReport& report, const Words& words) {
  const PlanResult& r = report.result;
  const bool cards = differ(report, [](const Scenario& s) { return s.cluster.gpu; });
  const bool links = differ(report, [](const Scenario& s) { return s.cluster.link; });
  bool days = false, cost = false;
  for (const StudyPoint& p : report.best.points) {
    const std::optional<Money>& m = p.money;
    days = days || (m && m->run_s);
    cost = cost || (m && m->cheaper() != nullptr);
  }
  TextTable table;
  table.columns = {{"GPUs"}};
  if (cards) table.columns.push_back({words("plan.card"), Align::left});
  if (links) table.columns.push_back({words("plan.link"), Align::left, 1});
  table.columns.push_back({words("column.step")});
  table.columns.push_back({"MFU", Align::right, 3});
  table.columns.push_back({words("column.memory"), Align::right, 2});
  if (days) table.columns.push_back({words("plan.days")});
  if (cost) table.columns.push_back({words(days ? "plan.cost" : "plan.cost_million")});
  table.columns.push_back({"", Align::left});
  table.columns.push_back({words("plan.plan"), Align::left});
  for (std::size_t i = 0; i < r.groups.size(); ++i) {
    const GroupBest& g = r.groups[i];
    const PlanCandidate& c = r.candidates[g.candidate];
    const Scenario& base = report.space.bases[c.base];
    std::vector<std::string> row{std::to_string(c.gpus)};
    if (cards) row.push_back(base.cluster.gpu);
    if (links) row.push_back(base.cluster.link);
    row.push_back(format_seconds(g.step_s));
    row.push_back(format_percent(report.best.points[i].prediction.mfu, 0));
    row.push_back(format_bytes(report.best.points[i].prediction.memory.needed));
    const std::optional<Money>& m = report.best.points[i].money;
    if (days) row.push_back(m && m->run_s ? format_amount(m->run_s->value / 86400) : "-");
    const Spending* spent = m ? m->cheaper() : nullptr;
    if (cost) {
      row.push_back(spent == nullptr ? "-"
                    : spent->per_run ? format_amount(spent->per_run->value)
                                     : format_amount(spent->per_million.value));
    }
    std::string marks = g.within_limits ? "" : "-";
    if (g.on_front) marks += "*";
    if (r.fastest == i) marks += "F";
    if (r.cheapest == i) marks += "C";
    row.push_back(marks);
    row.push_back(plan_words(report.space, c));
    table.rows.push_back(std::move(row));
  }
  std::string out = table.fitted();
  const bool several = r.groups.size() > 1;
  out += "\n";
  if (several) out += wrap(words("plan.marks")) + "\n";
  const bool late =
      std::ranges::any_of(r.groups, [](const GroupBest& g) { return !g.within_limits; });
  if (late) out += wrap(words("plan.outside_mark")) + "\n";
  out += wrap(words("plan.letters")) + "\n";
  if (cost) out += wrap(words("plan.cost_in", fmt::arg("currency", currency_of(report)))) + "\n";
  return out;
}

// How sure the figures of one group are.
std::string interval_text(const PlanReport& report,
                          std::size_t group,
                          std::string_view which,
                          const Words& words) {
  const auto between = [&](const std::string& from, const std::string& to) {
    return words("range", fmt::arg("from", from), fmt::arg("to", to));
  };
  const auto amounts = [&](const Figure& a, double unit) {
    return between(format_amount(a.low / unit), format_amount(a.high / unit));
  };
  const Quantiles& step = report.best.points[group].uncertainty.step;
  std::string out =
      words("plan.interval",
            fmt::arg("which", words(which)),
            fmt::arg("step", between(format_seconds(step.p5), format_seconds(step.p95))));
  const std::optional<Money>& m = report.best.points[group].money;
  if (m && m->run_s)
    out += words("plan.interval_days", fmt::arg("days", amounts(*m->run_s, 86400)));
  const Spending* spent = m ? m->cheaper() : nullptr;
  if (spent != nullptr && spent->per_run) {
    out += words("plan.interval_cost",
                 fmt::arg("cost", amounts(*spent->per_run, 1)),
                 fmt::arg("currency", currency_of(report)));
  }
  return wrap(out + words("sentence.stop")) + "\n";
}

std::string verdict(const Loser& l,
                    const GroupBest& best,
                    const GpuProfile& gpu,
                    const Words& words) {
  const Judged& j = l.judged;
  const auto slower = [&](double step) { return format_percent(step / best.step_s - 1, 1); };
  const auto of_card = [&](std::string_view key) {
    return words(key,
                 fmt::arg("needed", format_bytes(static_cast<double>(j.bytes))),
                 fmt::arg("card", format_bytes(gpu.memory_bytes)));
  };
  const auto step = [&](std::string_view key, double seconds) {
    return words(key, fmt::arg("step", format_seconds(seconds)), fmt::arg("more", slower(seconds)));
  };
  switch (j.fate) {
    case Fate::impossible:
      return words("plan.impossible");
    case Fate::states:
      return of_card("plan.states");
    case Fate::memory:
      return of_card("plan.needs");
    case Fate::limits:
      return words("plan.outside");
    case Fate::bound:
      return step("plan.at_least", j.least_s);
    case Fate::simulated:
      return j.step_s == best.step_s ? words("plan.as_fast") : step("plan.slower", j.step_s);
  }
  return "";
}

std::string losers_text(const PlanReport& report, std::size_t group, const Words& words) {
  const GroupBest& best = report.result.groups[group];
  const PlanCandidate& c = report.result.candidates[best.candidate];
  const GpuProfile& gpu = report.profile_of(report.space.bases[c.base].cluster.gpu);
  TextTable table;
  table.columns = {{words("plan.instead"), Align::left},
                   {words("plan.best_step"), Align::left},
                   {words("plan.with"), Align::left, 1}};
  for (const Loser& l : losers_of(report.space, report.result, best)) {
    table.rows.push_back({fmt::format("{} = {}", l.key, l.value),
                          verdict(l, best, gpu, words),
                          plan_words(report.space, report.result.candidates[l.candidate])});
  }
  if (table.rows.empty()) return "";
  return "\n" + wrap(words("plan.losers", fmt::arg("gpus", c.gpus))) + "\n" + table.fitted();
}

std::string flags_of(const PlanReport& report, const PlanCandidate& c) {
  const Scenario s = scenario_of(report.space, c);
  std::string out = "stepsight predict " + report.source;
  const auto flag = [&](std::string_view name, const auto& value) {
    out += fmt::format(" --{} {}", name, value);
  };
  flag("gpus", s.cluster.gpus);
  if (differ(report, [](const Scenario& b) { return b.cluster.gpu; })) flag("gpu", s.cluster.gpu);
  if (differ(report, [](const Scenario& b) { return b.cluster.link; }))
    flag("link", s.cluster.link);
  flag("strategy", name_of(s.parallel.strategy));
  flag("tensor", s.parallel.tensor);
  if (s.parallel.context > 1) flag("context", s.parallel.context);
  if (s.parallel.expert > 1) flag("expert", s.parallel.expert);
  flag("pipeline", s.parallel.pipeline);
  if (s.parallel.pipeline > 1) flag("schedule", name_of(s.parallel.schedule));
  if (s.parallel.chunks > 1) flag("chunks", s.parallel.chunks);
  flag("accumulation", s.training.accumulation);
  flag("recompute", name_of(s.training.recompute));
  flag("sequence", s.parallel.sequence ? "true" : "false");
  return out;
}

Json json_of(const PlanReport& report, const PlanCandidate& c) {
  const Scenario s = scenario_of(report.space, c);
  return {{"gpu", s.cluster.gpu},
          {"link", s.cluster.link},
          {"gpus", s.cluster.gpus},
          {"nodes", s.cluster.nodes},
          {"strategy", name_of(s.parallel.strategy)},
          {"tensor", s.parallel.tensor},
          {"context", s.parallel.context},
          {"expert", s.parallel.expert},
          {"pipeline", s.parallel.pipeline},
          {"data", data_parallel(s)},
          {"schedule", name_of(s.parallel.schedule)},
          {"chunks", s.parallel.chunks},
          {"batch", s.training.batch},
          {"accumulation", s.training.accumulation},
          {"recompute", name_of(s.training.recompute)},
          {"sequence", s.parallel.sequence}};
}

Json json_of(const Judged& j) {
  Json out = {{"fate", fate_names[static_cast<std::size_t>(j.fate)]}};
  if (j.bytes > 0) out["needed_bytes"] = j.bytes;
  if (j.least_s > 0) out["least_step_s"] = j.least_s;
  if (j.step_s > 0) out["step_time_s"] = j.step_s;
  return out;
}

}  // namespace

std::string plan_words(const PlanSpace& space, const PlanCandidate& c) {
  const Scenario s = scenario_of(space, c);
  const std::int64_t data = data_parallel(s);
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  if (c.tensor > 1) add(fmt::format("tp{}{}", c.tensor, c.sequence ? "+seq" : ""));
  if (c.context > 1) add(fmt::format("cp{}", c.context));
  if (c.expert > 1) add(fmt::format("ep{}", c.expert));
  if (c.pipeline > 1) {
    add(c.chunks > 1 ? fmt::format("pp{}x{}", c.pipeline, c.chunks)
                     : fmt::format("pp{}", c.pipeline));
    if (c.schedule == PipelineSchedule::zero_bubble) add("zero-bubble");
    if (c.schedule == PipelineSchedule::gpipe) add("gpipe");
  }
  if (data > 1) add(fmt::format("dp{}", data));
  if (data * c.context > 1) add(std::string(name_of(c.strategy)));
  add(fmt::format("mb{}x{}", c.micro_batch, s.training.accumulation));
  if (c.recompute != Recompute::none) add(fmt::format("recompute-{}", name_of(c.recompute)));
  return out;
}

std::string plan_text(const PlanReport& report, const Words& words) {
  const PlanResult& r = report.result;
  const Scenario& base = report.space.bases.front();
  std::string out = report.best.title.empty() ? "" : wrap(report.best.title) + "\n\n";
  out += wrap(words(
             "plan.question",
             fmt::arg("model", base.model.name),
             fmt::arg("parameters", format_count(static_cast<double>(parameter_count(base.model)))),
             fmt::arg("sequences", base.training.global_batch),
             fmt::arg("seq", base.training.seq))) +
         "\n" + counts_text(r, words);
  if (r.groups.empty()) {
    out += "\n" + words("plan.none_fits") + "\n";
    if (r.first_violation.empty()) return out;
    return out + wrap(words("plan.broken_rule", fmt::arg("rule", r.first_violation))) + "\n";
  }
  out += "\n" + groups_table(report, words);
  if (!r.fastest) return out + "\n" + words("plan.none_within") + "\n";
  const bool two = r.cheapest && r.cheapest != r.fastest;
  out += "\n" + interval_text(report, *r.fastest, "plan.fastest", words);
  if (two) out += interval_text(report, *r.cheapest, "plan.cheapest", words);
  const std::string worth = worth_section(report.best, words);
  if (!worth.empty()) out += "\n" + wrap(words("plan.next")) + "\n" + worth;
  out += losers_text(report, *r.fastest, words);
  const auto closer = [&](std::string_view key, std::size_t group) {
    const std::string command = flags_of(report, r.candidates[r.groups[group].candidate]);
    return wrap(words(key, fmt::arg("command", command))) + "\n";
  };
  out += "\n" + closer("plan.closer", *r.fastest);
  if (two) out += closer("plan.closer_cheapest", *r.cheapest);
  return out;
}

std::string plan_json(const PlanReport& report) {
  const PlanResult& r = report.result;
  Json out = {{"schema", 1}, {"title", report.best.title}};
  Json& counts = out["candidates"];
  counts["all"] = r.candidates.size();
  for (std::size_t f = 0; f < fate_names.size(); ++f)
    counts[std::string(fate_names[f])] = r.counts[f];
  out["machines"] = Json::array();
  for (std::size_t i = 0; i < r.groups.size(); ++i) {
    const GroupBest& g = r.groups[i];
    Json one = json_of(report, r.candidates[g.candidate]);
    const Prediction& p = report.best.points[i].prediction;
    one["step_time_s"] = g.step_s;
    const Quantiles& step = report.best.points[i].uncertainty.step;
    one["step_time_interval_s"] = {{"p5", step.p5}, {"p50", step.p50}, {"p95", step.p95}};
    one["samples_per_s"] = g.samples_per_s;
    one["tokens_per_s"] = p.tokens_per_s;
    one["mfu"] = p.mfu;
    one["needed_bytes"] = p.memory.needed;
    one["within_limits"] = g.within_limits;
    one["on_front"] = g.on_front;
    if (report.best.points[i].money) {
      one["money"] = money_json(scenario_of(report.space, r.candidates[g.candidate]),
                                report.best.points[i].money);
    }
    out["machines"].push_back(std::move(one));
  }
  out["fastest"] = r.fastest ? Json(*r.fastest) : Json(nullptr);
  out["cheapest"] = r.cheapest ? Json(*r.cheapest) : Json(nullptr);
  out["worth"] = worth_json(report.best);
  out["losers"] = Json::array();
  if (r.fastest) {
    for (const Loser& l : losers_of(report.space, r, r.groups[*r.fastest])) {
      Json one = {{"key", l.key}, {"value", l.value}};
      one.update(json_of(l.judged));
      one["candidate"] = json_of(report, r.candidates[l.candidate]);
      out["losers"].push_back(std::move(one));
    }
  }
  return json_text(out) + "\n";
}

std::string candidates_csv(const PlanReport& report) {
  std::string out =
      "gpu,link,gpus,strategy,tensor,context,expert,pipeline,schedule,chunks,batch,accumulation,"
      "recompute,"
      "sequence,fate,needed_bytes,least_step_s,step_time_s\n";
  const PlanResult& r = report.result;
  for (std::size_t i = 0; i < r.candidates.size(); ++i) {
    const PlanCandidate& c = r.candidates[i];
    const Scenario s = scenario_of(report.space, c);
    const Judged& j = r.judged[i];
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                       csv_cell(s.cluster.gpu),
                       csv_cell(s.cluster.link),
                       c.gpus,
                       name_of(c.strategy),
                       c.tensor,
                       c.context,
                       c.expert,
                       c.pipeline,
                       name_of(c.schedule),
                       c.chunks,
                       c.micro_batch,
                       s.training.accumulation,
                       name_of(c.recompute),
                       c.sequence,
                       fate_names[static_cast<std::size_t>(j.fate)],
                       j.bytes,
                       j.least_s,
                       j.step_s);
  }
  return out;
}

}  // namespace stepsight
