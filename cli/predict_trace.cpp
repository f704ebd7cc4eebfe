#include "cli/predict_trace.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/profiles.h"
#include "model/errors.h"
#include "model/io/builtin.h"
#include "model/io/model_error_file.h"
#include "model/io/scenario_keys.h"
#include "model/io/trace_file.h"
#include "model/traced_units.h"
#include "reports/traced_report.h"
#include "simulate/link.h"

namespace stepsight {

namespace {

// The keys that ask something of a traced step, beside whole sections; everything else of training
// is in the trace.
constexpr std::array<std::string_view, 14> trace_keys{"batch",
                                                      "gradient_dtype",
                                                      "gpu",
                                                      "gpus",
                                                      "link",
                                                      "nodes",
                                                      "topo",
                                                      "strategy",
                                                      "bucket_cap_MB",
                                                      "first_bucket_MB",
                                                      "overlap",
                                                      "unit_layers",
                                                      "reshard_after_forward",
                                                      "prefetch"};

constexpr std::array<std::string_view, 5> trace_sections{
    "ranks", "loader", "stalls", "run", "cost"};

bool asks_of_trace(std::string_view name) {
  if (std::ranges::find(trace_keys, name) != trace_keys.end()) return true;
  return std::ranges::any_of(scenario_keys(), [&](const ScenarioKey& key) {
    return key.name == name &&
           std::ranges::find(trace_sections, key.section) != trace_sections.end();
  });
}

void check_keys(std::span<const KeyFlag> keys) {
  for (const KeyFlag& k : keys) {
    if (asks_of_trace(k.key)) continue;
    std::string known;
    for (const std::string_view key : trace_keys)
      known += (known.empty() ? "" : ", ") + std::string(key);
    for (const std::string_view section : trace_sections)
      known += ", [" + std::string(section) + "]";
    throw UserError(k.flag +
                    ": a traced step is what it was traced as; of the scenario's keys it "
                    "takes " +
                    known);
  }
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// The driver's name of a card that has vendor's figures; empty elsewhere.
std::string driver_name(const std::string& gpu) {
  if (!find_named_file_if_any("gpus", gpu, ".toml")) return "";
  return read_gpu(gpu).driver_name;
}

// Which built-in card the trace is of.
class TracedCard {
 public:
  TracedCard(const TracedStep& step, Profiles& profiles) : step_(step), profiles_(profiles) {}

  // The profile of the traced card; null where it is `gpu` itself.
  const GpuProfile* other_than(const std::string& gpu) {
    if (step_.gpu.empty()) return nullptr;
    if (same_name(profiles_.get(gpu).driver_name, step_.gpu)) return nullptr;
    if (same_name(driver_name(gpu), step_.gpu)) return nullptr;
    return &profiles_.get(name());
  }

  const std::string& name() {
    if (!name_.empty()) return name_;
    for (const std::string& card : known_names("gpus", ".toml")) {
      if (same_name(driver_name(card), step_.gpu)) return name_ = card;
    }
    throw UserError(step_.file + ": is of a card that is not known, \"" + step_.gpu +
                    "\" (see `stepsight show gpus`): its kernels cannot be carried over to another "
                    "one; --gpu must be the card itself, with a profile of `stepsight calibrate` "
                    "whose driver_name is this");
  }

 private:
  const TracedStep& step_;
  Profiles& profiles_;
  std::string name_;
};

bool has_batch(const TraceQuestion& question) {
  return std::ranges::any_of(question.keys, [](const KeyFlag& k) { return k.key == "batch"; });
}

// A trace does not say how many samples its step took; a loader's rate and prices are per sample.
void require_batch(const TraceQuestion& question, const Scenario& s) {
  if (has_batch(question)) return;
  const bool loads = s.irregular.loader_workers > 0 || s.irregular.node_samples_per_s > 0;
  if (!loads && !s.cost.any()) return;
  throw UserError(std::string(loads ? "[loader]" : "[cost]") +
                  " with a trace needs --batch: how many samples the traced step took");
}

// A traced step has no architecture: cluster and training keys are read beside a model that stands
// in for it and is then forgotten.
ScenarioFile read_keys(const TraceQuestion& question) {
  std::vector<KeyFlag> keys = question.keys;
  keys.push_back({"--model", "name", "gpt2-124m"});
  ScenarioFile file = question.scenario.empty() ? scenario_from_flags(keys)
                                                : read_scenario(question.scenario, keys);
  for (Scenario& s : file.points) {
    const Parallel& p = s.parallel;
    if (shards_optimizer(p.strategy) && !shards_parameters(p.strategy)) {
      throw UserError("strategy: with a traced step it is ddp, fsdp (zero3) or none");
    }
    if (p.shard_group > 0 || p.tensor * p.context * p.expert * p.pipeline > 1) {
      throw UserError(
          "a traced step is whole: no tensor, context, expert, pipeline or shard_group");
    }
    if (s.run.tokens > 0) {
      throw UserError("tokens: a trace does not say how many a step takes; give the run's steps");
    }
    s.model = {};
    s.model.name = question.trace;
    s.training.seq = s.training.accumulation = 1;  // what it takes is counted in samples
    s.training.global_batch = 0;
    require_batch(question, s);
  }
  return file;
}

void settle_parameters(const TraceQuestion& question,
                       TracedStep& step,
                       const GpuProfile& traced_on,
                       std::vector<std::string>& notes) {
  if (step.sizes_recorded) {
    const std::int64_t recorded = parameter_count(step);
    if (question.parameters && *question.parameters != recorded) {
      throw UserError(fmt::format(
          "--params {}: the trace records {} parameters; the flag is for traces without shapes",
          *question.parameters,
          recorded));
    }
    return;
  }
  const std::optional<std::int64_t> inferred =
      question.parameters ? question.parameters : infer_parameters(step, traced_on);
  if (!inferred) {
    throw UserError(step.file +
                    ": records no shapes and no optimizer step: the number of parameters is not "
                    "known; give --params, or trace with record_shapes=True");
  }
  share_out_parameters(step, *inferred);
  notes.push_back(fmt::format(
      "The trace records no shapes: {} parameters {}, shared out over {} gradients as backward's "
      "time is. Trace with record_shapes=True for their true sizes.",
      *inferred,
      question.parameters ? "as given" : "inferred from the optimizer's time as fused AdamW",
      step.gradients.size()));
}

// Figures that nobody measured are not passed off as measured.
void note_link(const Scenario& s, const GpuProfile& gpu, std::vector<std::string>& notes) {
  const Link link = resolve_link(gpu, s.cluster);
  if (link.kind != Link::Kind::collective || link.origin == CurveOrigin::measured) return;
  const std::string note = s.cluster.link + ": " + std::string(describe(link.origin)) + ".";
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
}

// How far a sharded step is read out of the trace, and how far guessed.
void note_units(const TracedStep& step, const Scenario& s, std::vector<std::string>& notes) {
  if (!shards_parameters(s.parallel.strategy)) return;
  const TracedUnits units = traced_units(step, s.parallel.unit_layers);
  std::string note;
  if (units.units.empty()) {
    note =
        "No layers that repeat were found among the gradients: FSDP is taken to gather all "
        "parameters as one unit.";
  } else if (!units.forward_known) {
    note =
        "Where forward first uses each layer is not in the trace: FSDP's units are placed as their "
        "mirror image in backward.";
  }
  if (!note.empty() && std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
}

void note_trace(const TracedStep& step, std::vector<std::string>& notes) {
  if (step.gpu.empty()) {
    notes.emplace_back("The trace does not say which card it is of: it is taken for the same one.");
  }
  if (step.other_streams > 0) {
    notes.push_back(fmt::format(
        "{} kernels ran wholly beside others, on further streams; they count no time of their own.",
        step.other_streams));
  }
}

// On a terminal, a file that takes over a second to read shows how far it is.
TracedStep read_shown(const std::string& path) {
  using Clock = std::chrono::steady_clock;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  Clock::time_point next = Clock::now() + std::chrono::seconds(1);
  bool shown = false;
  const auto erase = [&] {
    if (shown) std::fputs("\r\033[K", stderr);
  };
  const auto progress = [&](std::uint64_t bytes) {
    if (!terminal || Clock::now() < next) return;
    next = Clock::now() + std::chrono::milliseconds(250);
    shown = true;
    std::fprintf(
        stderr, "\r\033[Kreading the trace, twice: %.1f GB", static_cast<double>(bytes) / 1e9);
  };
  try {
    TracedStep step = read_traced_step(path, progress);
    erase();
    return step;
  } catch (...) {
    erase();
    throw;
  }
}

}  // namespace

void predict_trace(const TraceQuestion& question) {
  check_keys(question.keys);
  ScenarioFile file = read_keys(question);
  if (question.between && file.points.size() < 2) {
    throw UserError(
        "--between needs two points, such as --gpus 1,8 or --link A,B: it says how the steps of "
        "the first and the last differ");
  }
  TracedReport report;
  report.title = file.title;
  report.axes = file.axes;
  report.notes = question.notes;
  report.step = read_shown(question.trace);
  if (has_batch(question)) report.batch = file.points.back().training.batch;

  const ModelError error = read_model_error();
  Profiles profiles;
  TracedCard card(report.step, profiles);
  note_trace(report.step, report.notes);
  const std::string& last_gpu = file.points.back().cluster.gpu;
  const GpuProfile* other = card.other_than(last_gpu);
  settle_parameters(
      question, report.step, other != nullptr ? *other : profiles.get(last_gpu), report.notes);
  std::optional<Waterfall> first;
  for (std::size_t i = 0; i < file.points.size(); ++i) {
    Scenario& s = file.points[i];
    const GpuProfile& gpu = profiles.get(s.cluster.gpu);
    note_link(s, gpu, report.notes);
    note_units(report.step, s, report.notes);
    const GpuProfile* from = card.other_than(s.cluster.gpu);
    if (const std::string& slowest = s.irregular.slowest_gpu; !slowest.empty()) {
      s.irregular.slow_factor *=
          traced_slowdown(report.step, gpu, from, profiles.get(slowest), card.other_than(slowest));
    }
    report.points.push_back(study_traced(report.step, s, gpu, from, error));
    std::vector<std::string> values;
    const std::vector<std::size_t> at = coordinates(file, i);
    for (std::size_t a = 0; a < at.size(); ++a) values.push_back(file.axis_values[a][at[a]]);
    report.coordinates.push_back(std::move(values));
    const bool last = i + 1 == file.points.size();
    if (!question.between || (i > 0 && !last)) continue;
    const Waterfall here =
        traced_waterfall(report.step, s, gpu, from, report.points[i].point.prediction);
    if (!first) {
      first = here;
      continue;
    }
    const auto& at_first = report.coordinates.front();
    const auto& at_last = report.coordinates.back();
    report.between = {point_name(report.axes, at_first, at_last),
                      point_name(report.axes, at_last, at_first),
                      *first,
                      here};
  }
  if (question.levers) {
    const Scenario& s = file.points.back();
    report.levers_asked = true;
    report.levers = traced_levers(report.step,
                                  s,
                                  profiles.get(s.cluster.gpu),
                                  card.other_than(s.cluster.gpu),
                                  report.points.back().point.prediction,
                                  error);
  }
  write_output(question.output,
               question.json ? traced_json(report)
               : question.csv
                   ? (report.between ? between_csv(*report.between) : traced_csv(report))
                   : traced_text(report, profiles.get(last_gpu), Words(question.language)));
}

}  // namespace stepsight
