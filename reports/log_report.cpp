#include "reports/log_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/json_parts.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

std::string lines_of(const std::vector<std::string>& notes, std::string_view head) {
  std::string out;
  for (const std::string& note : notes) out += wrap(fmt::format("{}: {}", head, note)) + "\n";
  return out;
}

std::string_view unit_name(RateUnit unit) {
  return unit == RateUnit::tokens ? "tokens" : unit == RateUnit::samples ? "samples" : "";
}

std::string_view scope_name(RateScope scope) {
  switch (scope) {
    case RateScope::whole_job:
      return "whole job";
    case RateScope::each_gpu:
      return "each GPU";
    case RateScope::unknown:
      break;
  }
  return "not said of what";
}

std::string window_text(const StepLog& log, const SteadyWindow& w) {
  TextTable table;
  table.columns = {{"what", Align::left}, {"time"}, {fmt::format("{}s", log.unit)}};
  const auto row = [&](const char* name, double seconds, double steps) {
    table.rows.push_back({name, format_seconds(seconds), steps > 0 ? format_count(steps) : ""});
  };
  if (w.warm_up_steps > 0)
    row("warm-up, cut off", w.warm_up_seconds, static_cast<double>(w.warm_up_steps));
  row(fmt::format("steady {}, median", log.unit).c_str(),
      w.step_seconds,
      static_cast<double>(w.steps));
  row("  a quarter is shorter than", w.low_seconds, 0);
  row("  a quarter is longer than", w.high_seconds, 0);
  if (w.data_seconds) row("  waiting for data, mean", *w.data_seconds, 0);
  row("mean with stalls", w.mean_seconds, 0);
  std::string out = table.text();
  if (w.stall_count == 0) return out;
  std::string stalls =
      fmt::format("{} stall{} (checkpoints, evaluation, the loader) take {} of the time",
                  w.stall_count,
                  w.stall_count == 1 ? "" : "s",
                  format_percent(w.stall_share));
  if (w.stall_every)
    stalls += fmt::format(", one about every {:.0f} {}s", *w.stall_every, log.unit);
  return out + wrap(stalls + ".") + "\n";
}

std::string facts_text(const LogFacts& f) {
  std::string out;
  const auto add = [&](const char* name, const std::optional<std::int64_t>& value) {
    if (value)
      out += fmt::format(
          "{}{} {}", out.empty() ? "" : ", ", name, format_count(static_cast<double>(*value)));
  };
  add("GPUs", f.gpus);
  add("batch of a GPU", f.gpu_batch);
  add("accumulation", f.accumulation);
  add("global batch", f.global_batch);
  add("tokens a step", f.tokens);
  add("sequence", f.seq);
  add("parameters", f.parameters);
  add("layers", f.layers);
  add("hidden", f.hidden);
  if (f.mfu) out += fmt::format("{}MFU {}", out.empty() ? "" : ", ", format_percent(*f.mfu));
  return out.empty() ? "" : wrap("The log says: " + out + ".") + "\n";
}

std::string parts_text_of(const std::vector<LoggedPart>& parts) {
  if (parts.empty()) return "";
  TextTable table;
  table.columns = {{"timer", Align::left}, {"mean"}, {"fastest rank"}, {"times"}};
  for (const LoggedPart& p : parts) {
    table.rows.push_back({p.name.substr(0, 44),
                          format_seconds(p.seconds),
                          p.least < p.most ? format_seconds(p.least) : "",
                          format_count(static_cast<double>(p.count))});
    if (table.rows.size() == 20) break;
  }
  return "\n" + table.text();
}

std::string rows_text(const StepLog& log) {
  if (log.rows.empty()) return "";
  TextTable table;
  table.columns = {{"GPUs"}, {"time"}, {"rate, all GPUs"}, {"batch of a GPU"}, {"global batch"}};
  const auto count = [](const std::optional<std::int64_t>& v) {
    return v ? format_count(static_cast<double>(*v)) : "";
  };
  for (const ScalingRow& r : log.rows) {
    table.rows.push_back({format_count(static_cast<double>(r.gpus)),
                          r.seconds ? format_seconds(*r.seconds) : "",
                          r.rate ? format_significant(*r.rate) : "",
                          count(r.gpu_batch),
                          count(r.global_batch)});
    if (table.rows.size() == 40) break;
  }
  return "\n" + table.text();
}

template <typename T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json window_json(const SteadyWindow& w) {
  nlohmann::ordered_json stalls = nlohmann::ordered_json::array();
  for (const Stall& s : w.stalls)
    stalls.push_back({{"step", s.index}, {"extra_s", s.extra_seconds}});
  return {{"warm_up_steps", w.warm_up_steps},
          {"warm_up_s", w.warm_up_seconds},
          {"steps", w.steps},
          {"step_time_s", w.step_seconds},
          {"quarter_below_s", w.low_seconds},
          {"quarter_above_s", w.high_seconds},
          {"mean_with_stalls_s", w.mean_seconds},
          {"data_s", or_null(w.data_seconds)},
          {"rate_per_s", or_null(w.rate)},
          {"stalls", w.stall_count},
          {"stall_share", w.stall_share},
          {"stall_every", or_null(w.stall_every)},
          {"first_stalls", stalls}};
}

}  // namespace

std::string log_text(const LogReport& report) {
  const StepLog& log = report.log;
  std::string out = wrap(fmt::format("{}: {}", log.file, log.format)) + "\n\n";
  if (report.window) out += window_text(log, *report.window);
  if (report.window && report.window->rate) {
    out += wrap(fmt::format("Rate as logged: {} {} a second, of {}.",
                            format_significant(*report.window->rate),
                            unit_name(log.rate_unit),
                            scope_name(log.rate_scope))) +
           "\n";
  }
  if (log.run_seconds) {
    out += wrap(fmt::format("Whole run: {}{}.",
                            format_seconds(*log.run_seconds),
                            log.run_steps ? fmt::format(" for {} steps", *log.run_steps) : "")) +
           "\n";
  }
  out += facts_text(log.facts) + parts_text_of(log.parts) + rows_text(log);
  const std::string notes = lines_of(log.doubts, "Careful") + lines_of(log.skipped, "Left out");
  return notes.empty() ? out : out + "\n" + notes;
}

std::string log_json(const LogReport& report) {
  const StepLog& log = report.log;
  const LogFacts& f = log.facts;
  nlohmann::ordered_json out{
      {"schema", 1}, {"file", log.file}, {"format", log.format}, {"unit", log.unit}};
  out["steady"] = report.window ? window_json(*report.window) : nlohmann::ordered_json(nullptr);
  out["rate_unit"] = unit_name(log.rate_unit);
  out["rate_of"] = scope_name(log.rate_scope);
  out["run_s"] = or_null(log.run_seconds);
  out["run_steps"] = or_null(log.run_steps);
  out["run_samples_per_s"] = or_null(log.run_samples_per_s);
  out["facts"] = {{"gpus", or_null(f.gpus)},
                  {"gpu_batch", or_null(f.gpu_batch)},
                  {"global_batch", or_null(f.global_batch)},
                  {"accumulation", or_null(f.accumulation)},
                  {"tokens", or_null(f.tokens)},
                  {"seq", or_null(f.seq)},
                  {"parameters", or_null(f.parameters)},
                  {"layers", or_null(f.layers)},
                  {"hidden", or_null(f.hidden)},
                  {"mfu", or_null(f.mfu)}};
  out["timers"] = nlohmann::ordered_json::array();
  for (const LoggedPart& p : log.parts) {
    out["timers"].push_back(
        {{"name", p.name}, {"mean_s", p.seconds}, {"fastest_rank_s", p.least}, {"count", p.count}});
  }
  out["rows"] = nlohmann::ordered_json::array();
  for (const ScalingRow& r : log.rows) {
    out["rows"].push_back({{"gpus", r.gpus},
                           {"time_s", or_null(r.seconds)},
                           {"rate_per_s", or_null(r.rate)},
                           {"gpu_batch", or_null(r.gpu_batch)},
                           {"global_batch", or_null(r.global_batch)}});
  }
  out["doubts"] = log.doubts;
  out["left_out"] = log.skipped;
  // A file may hold bytes that are no UTF-8; its name and timers are quoted here.
  return json_text(out) + "\n";
}

std::string log_csv(const LogReport& report) {
  std::string out = "step,covers,seconds,data_seconds,rate,loss,phase\n";
  const auto cell = [](const std::optional<double>& v) { return v ? fmt::format("{}", *v) : ""; };
  std::size_t i = 0;
  for (const LoggedStep& s : report.log.steps) {
    const bool warm_up = report.window && i++ < report.window->first;
    const bool stall = report.window && s.seconds > report.window->stall_limit;
    out += fmt::format("{},{},{},{},{},{},{}\n",
                       s.index,
                       s.covers,
                       s.seconds,
                       cell(s.data_seconds),
                       cell(s.rate),
                       cell(s.loss),
                       warm_up ? "warm-up"
                       : stall ? "stall"
                               : "steady");
  }
  return out;
}

}  // namespace stepsight
