#include "cli/diagnose_question.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/errors.h"
#include "model/io/link_file.h"
#include "model/io/log_text.h"
#include "model/io/logs/nccl_info.h"
#include "model/io/logs/read_log.h"
#include "model/io/logs/utilisation_log.h"
#include "model/io/model_file.h"
#include "model/io/scenario_file.h"
#include "model/parallel_layout.h"
#include "model/steady_window.h"
#include "model/transformer.h"
#include "model/usual_link.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

std::int64_t count_of(const DiagnoseFlags& flags, std::string_view key, std::int64_t otherwise) {
  if (!flags.has(key)) return otherwise;
  const auto value = number_of(flags.keys.at(std::string(key)));
  if (!value || *value < 1 || *value > 1e6 || *value != std::floor(*value)) {
    throw UserError(flag_of(key) + ": expected a whole number from 1 to 1,000,000, not \"" +
                    flags.keys.at(std::string(key)) + "\"");
  }
  return static_cast<std::int64_t>(*value);
}

struct TimedLog {
  StepLog log;
  SteadyWindow window;
};

TimedLog read_times(const std::string& file, std::vector<std::string>& notes) {
  TimedLog out;
  out.log = read_step_log(file);
  const auto window = steady_window(out.log.steps);
  if (!window) {
    throw UserError(file + ": holds no step times (" + out.log.format + "); `stepsight import " +
                    file + "` shows what was read");
  }
  out.window = *window;
  notes.push_back(fmt::format(
      "{}: {}, steady {} {}{}{}.",
      file,
      out.log.format,
      out.log.unit,
      format_seconds(window->step_seconds),
      window->warm_up_steps > 0 ? fmt::format(" after {} of warm-up", window->warm_up_steps) : "",
      window->stall_count > 0 ? fmt::format(", {} stalls left out", window->stall_count) : ""));
  for (const std::string& doubt : out.log.doubts) notes.push_back("  Careful: " + doubt + ".");
  return out;
}

// What a log's steps time must be steps of the optimizer.
double step_seconds(const TimedLog& timed, std::int64_t accumulation) {
  if (timed.log.unit == "micro-step")
    return timed.window.step_seconds * static_cast<double>(accumulation);
  return timed.window.step_seconds;
}

void take_timers(const StepLog& log, double step, Evidence& evidence) {
  double reduce = 0;
  for (const LoggedPart& part : log.parts) {
    const std::string& name = part.name;
    if (name == "bwd_allreduce" || name == "all-grads-sync") reduce = part.most;
    if (name == "forward-backward" || name == "forward-compute" || name == "backward-compute") {
      if (part.least > 0 && part.most / part.least > 1.05)
        evidence.rank_spread = part.most / part.least;
    }
  }
  // A timer that is longer than the step is judged as a contradiction, not dropped.
  if (reduce > 0.01 * step) evidence.communication = reduce;
}

void take_log_facts(const StepLog& log, DiagnoseFlags& flags) {
  const auto fill = [&](const char* key, const std::optional<std::int64_t>& value) {
    if (!value || flags.has(key)) return;
    flags.keys[key] = std::to_string(*value);
    flags.given.emplace_back(key);
  };
  fill("gpus", log.facts.gpus);
  if (!flags.has("global_batch")) fill("batch", log.facts.gpu_batch);
  fill("accumulation", log.facts.accumulation);
  fill("seq", log.facts.seq);
  if (!flags.parameters && log.facts.parameters) {
    flags.parameters = static_cast<double>(*log.facts.parameters);
  }
}

// A card's usual link, where none was given.
void choose_usual_link(DiagnoseFlags& flags, std::vector<std::string>& notes) {
  if (flags.has("link") || !flags.has("gpu") || count_of(flags, "nodes", 1) > 1) return;
  const std::string& gpu = flags.keys["gpu"];
  const bool board = gpu.find("sxm") != std::string::npos || gpu.find("gb200") != std::string::npos;
  flags.keys["link"] = usual_link(gpu, board ? "nvswitch" : "pcie", 0);
  flags.given.emplace_back("link");
  notes.push_back("No --link was given: took " + flags.keys["link"] +
                  ", the usual one of this card.");
}

// Bus bandwidth of a large all-reduce.
double link_rate(const std::string& link, std::int64_t gpus, std::int64_t nodes) {
  const auto curve = link_curve(*find_link(link, ""), {CollectiveKind::all_reduce, gpus, nodes});
  if (!curve) throw UserError("--link: no link \"" + link + "\" (see `stepsight show links`)");
  return curve->curve.parameters.busbw_GBps;
}

std::optional<Scenario> scenario_of(const DiagnoseFlags& flags) {
  const bool batch = flags.has("batch") || flags.has("global_batch");
  if (!flags.has("name") || !flags.has("gpu") || !flags.has("link") || !batch) return std::nullopt;
  ScenarioFile file = scenario_from_flags(key_flags(flags));
  if (file.points.size() != 1) throw UserError("diagnose takes one value of each flag, not a list");
  return file.points.front();
}

void settle_times(const DiagnoseFlags& flags,
                  DiagnoseQuestion& q,
                  std::vector<std::string>& notes,
                  const std::optional<TimedLog>& one,
                  const std::optional<TimedLog>& n) {
  const std::int64_t accumulation =
      q.scenario ? q.scenario->training.accumulation : count_of(flags, "accumulation", 1);
  if (one) q.one = step_seconds(*one, accumulation);
  if (n) q.n = step_seconds(*n, accumulation);
  if (flags.t1) q.one = flags.t1;
  if (flags.tn) q.n = *flags.tn;
  // Rates: samples a second over all GPUs, so a step is the batch over them.
  const double batch = q.scenario ? static_cast<double>(q.scenario->training.batch * accumulation)
                                  : static_cast<double>(count_of(flags, "batch", 1) * accumulation);
  const double all =
      q.scenario ? static_cast<double>(data_parallel(*q.scenario)) : static_cast<double>(q.gpus);
  if (flags.rate1) q.one = (q.same_work ? batch * all : batch) / *flags.rate1;
  if (flags.raten) q.n = batch * all / *flags.raten;
  const bool absolute = q.scenario || flags.has("batch") || !flags.raten;
  if (!absolute) {
    q.relative = true;
    notes.emplace_back(
        "Rates without --batch: the length of a step is not known, only the speed-up.");
  }
  if (!(q.n > 0)) {
    throw UserError(
        "the step on N GPUs is missing: --tn SECONDS, --raten SAMPLES_PER_SECOND or --logn FILE");
  }
}

void settle_evidence(const DiagnoseFlags& flags,
                     DiagnoseQuestion& q,
                     std::vector<std::string>& notes,
                     const std::optional<TimedLog>& one,
                     const std::optional<TimedLog>& n) {
  Evidence& e = q.evidence;
  if (one) e.data_one = one->window.data_seconds;
  if (n) {
    e.data_n = n->window.data_seconds;
    e.stall_share = n->window.stall_share;
    take_timers(n->log, q.n, e);
  }
  if (flags.data1) e.data_one = flags.data1;
  if (flags.datan) e.data_n = flags.datan;
  if (flags.communication) e.communication = flags.communication;
  e.divided = flags.divided;
  e.data_parallel = flags.data_parallel;
  if (!flags.utilisation.empty()) {
    const UtilisationSamples samples = read_utilisation(flags.utilisation);
    e.utilisation = judge_utilisation(samples);
    if (e.utilisation) notes.push_back(flags.utilisation + ": " + describe(*e.utilisation) + ".");
  }
  if (!flags.nccl_log.empty()) {
    const NcclInfo info = read_nccl_info(flags.nccl_log);
    e.host_memory = info.channels("SHM") > 0 && info.channels("P2P") == 0;
    e.sockets = info.channels("NET/Socket") > 0;
    e.no_gpudirect = info.channels("NET") > info.channels("NET/Socket") && info.gpudirect == 0;
    for (const std::string& finding : findings(info))
      notes.push_back(flags.nccl_log + ": " + finding + ".");
  }
}

}  // namespace

DiagnosedRun diagnose_question(const DiagnoseFlags& from, Profiles& profiles) {
  DiagnoseFlags flags = from;
  DiagnosedRun run;
  std::optional<TimedLog> one, n;
  if (!flags.log1.empty()) one = read_times(flags.log1, run.notes);
  if (!flags.logn.empty()) {
    n = read_times(flags.logn, run.notes);
    take_log_facts(n->log, flags);
  }
  choose_usual_link(flags, run.notes);
  DiagnoseQuestion& q = run.question;
  q.gpus = count_of(flags, "gpus", 0);
  q.nodes = count_of(flags, "nodes", 1);
  if (q.gpus < 2) throw UserError("--gpus: how many GPUs shared the step? At least 2");
  q.same_work = flags.same_work;
  q.scenario = scenario_of(flags);
  if (flags.parameters) q.parameters = flags.parameters;
  if (flags.has("name")) {
    if (!q.scenario)
      q.parameters = static_cast<double>(parameter_count(read_model(flags.keys["name"])));
    run.name = flags.keys["name"] + " on ";
  }
  if (flags.has("gpu")) q.memory_bytes = profiles.get(flags.keys["gpu"]).memory_bytes;
  if (q.memory_bytes && !(*q.memory_bytes > 0)) q.memory_bytes.reset();
  if (!q.scenario && flags.has("link"))
    q.link_GBps = link_rate(flags.keys["link"], q.gpus, q.nodes);
  run.name += fmt::format("{} x {}", q.gpus, flags.has("gpu") ? flags.keys["gpu"] : "GPU");
  if (flags.has("link")) run.name += ", " + flags.keys["link"];
  settle_times(flags, q, run.notes, one, n);
  settle_evidence(flags, q, run.notes, one, n);
  return run;
}

}  // namespace stepsight
