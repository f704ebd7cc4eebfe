#include <cstdio>
#include <map>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/profiles.h"
#include "cli/progress.h"
#include "cli/scenario_flags.h"
#include "cli/shard.h"
#include "cli/sweep_file.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/model_error_file.h"
#include "model/io/scenario_file.h"
#include "reports/sweep_rows.h"
#include "simulate/irregular_step.h"
#include "simulate/ordered_workers.h"
#include "simulate/quick_predict.h"

namespace stepsight {

namespace {

struct SweepFlags : ScenarioFlags {
  std::string output;
  std::string shard = "1/1";
  unsigned threads = 0;
  bool json = false;
  bool resume = false;
  bool intervals = false;
};

// What every thread shares.
struct Sweep {
  const ScenarioPoints& points;
  const std::map<std::string, const GpuProfile*>& gpus;
  SweepRows rows;
  const ModelError* error = nullptr;  // null: no intervals
};

// One thread's own: it remembers what it priced.
class Worker {
 public:
  explicit Worker(const Sweep& sweep) : sweep_(sweep), points_(sweep.points) {}

  std::string rows(std::uint64_t begin, std::uint64_t end) {
    std::string out;
    for (std::uint64_t i = begin; i < end; ++i) append(out, i);
    return out;
  }

 private:
  void append(std::string& out, std::uint64_t index) {
    Scenario scenario = points_.at(index);
    const GpuProfile& gpu = *sweep_.gpus.at(scenario.cluster.gpu);
    const std::string& other = scenario.irregular.slowest_gpu;
    if (!other.empty()) {
      scenario.irregular.slow_factor *= card_slowdown(scenario, gpu, *sweep_.gpus.at(other));
    }
    auto& predictor = predictors_[&gpu];
    if (!predictor) predictor = std::make_unique<QuickPredictor>(gpu);
    const QuickPrediction r = predictor->predict(scenario);
    const std::vector<std::size_t> at = points_.coordinates(index);
    values_.resize(at.size());
    for (std::size_t a = 0; a < at.size(); ++a) values_[a] = points_.axis_values()[a][at[a]];
    if (sweep_.error != nullptr) {
      const auto same = [&](const std::string&) -> const GpuProfile& { return gpu; };
      const StudyPoint studied = study({&scenario, 1}, same, *sweep_.error).front();
      sweep_.rows.append(out, index, values_, scenario, r, studied.money, &studied);
      return;
    }
    const StepRange step{r.step.value, r.step.value, r.step.value};
    sweep_.rows.append(out, index, values_, scenario, r, money_of(scenario, gpu, step));
  }

  const Sweep& sweep_;
  ScenarioPoints points_;
  std::map<const GpuProfile*, std::unique_ptr<QuickPredictor>> predictors_;
  std::vector<std::string> values_;
};

// Every card that the sweep names, read before the threads start.
std::map<std::string, const GpuProfile*> cards_of(const ScenarioPoints& points,
                                                  Profiles& profiles) {
  std::vector<std::string> names = points.given("gpu");
  for (const std::string& other : points.given("slowest_gpu")) names.push_back(other);
  std::map<std::string, const GpuProfile*> out;
  for (const std::string& name : names) out.emplace(name, &profiles.get(name));
  return out;
}

ScenarioPoints read(const SweepFlags& flags) {
  const std::vector<KeyFlag> keys = key_flags(flags);
  if (flags.file.empty() && keys.empty()) {
    throw UserError("sweep needs a scenario file with arrays, or flags with lists");
  }
  return flags.file.empty() ? read_scenario_points_text("command line", "", keys)
                            : read_scenario_points(flags.file, keys);
}

// "{shard}" in a file's name stands for the shard's number.
std::string with_shard(std::string path, const Shard& shard) {
  const std::string word = "{shard}";
  const std::size_t at = path.find(word);
  if (at != std::string::npos) path.replace(at, word.size(), std::to_string(shard.number));
  return path;
}

void sweep_command(const SweepFlags& flags) {
  const Shard shard = parse_shard(flags.shard);
  if (flags.shard == "auto" && shard.of > 1 && flags.output.find("{shard}") == std::string::npos) {
    throw UserError("--shard auto needs {shard} in the name after -o, such as -o part-{shard}.csv");
  }
  const bool to_file = !is_standard_output(flags.output);
  if (flags.resume && !to_file) throw UserError("--resume needs -o FILE");
  ScenarioPoints points = read(flags);
  Profiles profiles;
  const auto gpus = cards_of(points, profiles);
  const Scenario first = points.at(0);
  const bool money = first.cost.any() || first.run.tokens > 0 || first.run.steps > 0;
  const ModelError error = read_model_error();
  const Sweep sweep{points,
                    gpus,
                    SweepRows(points.axes(), money, flags.json, flags.intervals),
                    flags.intervals ? &error : nullptr};
  const Stretch stretch = stretch_of(shard, points.size());
  Worker checker(sweep);

  std::unique_ptr<SweepFile> file;
  std::uint64_t begin = stretch.begin;
  if (to_file) {
    file = std::make_unique<SweepFile>(with_shard(flags.output, shard),
                                       sweep.rows.header(),
                                       stretch.begin,
                                       stretch.end,
                                       flags.resume,
                                       [&](std::uint64_t i) { return checker.rows(i, i + 1); });
    begin = file->next();
  } else {
    std::fputs(sweep.rows.header().c_str(), stdout);
  }
  Progress progress("points", stretch.end - begin);
  OrderedWork work;
  work.begin = begin;
  work.end = stretch.end;
  work.threads =
      flags.threads > 0 ? flags.threads : std::max(1U, std::thread::hardware_concurrency());
  work.make_worker = [&sweep]() -> ItemsToText {
    return [worker = std::make_shared<Worker>(sweep)](std::uint64_t from, std::uint64_t to) {
      return worker->rows(from, to);
    };
  };
  work.take = [&](const std::string& rows, std::uint64_t done) {
    if (file) {
      file->append(rows);
    } else {
      std::fwrite(rows.data(), 1, rows.size(), stdout);
    }
    progress.show(done);
  };
  run_in_order(work);
  progress.clear();
  if (!file) return;
  file->finish();
  const auto asked = static_cast<double>(stretch.end - begin);
  fmt::print("{:.0f} points in {:.3g} s, {:.4g} a second\n",
             asked,
             progress.seconds(),
             asked / std::max(1e-9, progress.seconds()));
}

}  // namespace

void add_sweep_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* command = app.add_subcommand(
      "sweep", "One row for each of up to 10,000,000 points of a scenario with arrays");
  command->add_flag("--json", flags->json, help_text("a JSON object a line in place of CSV"));
  command->add_flag(
      "--intervals",
      flags->intervals,
      help_text("also how each point scales, and the 90 % interval of every figure; takes "
                "some hundred times as long"));
  command->add_option(
      "-o,--output",
      flags->output,
      help_text("write to this file; rows gather in FILE.part until all are there"));
  command->add_flag("--resume",
                    flags->resume,
                    help_text("go on with the FILE.part of a sweep that was interrupted"));
  command->add_option(
      "--shard",
      flags->shard,
      help_text("I/N: the I-th of N parts, for N machines; auto: as a Slurm array, a "
                "Slurm step or an MPI launcher says ({shard} in -o is the number)"));
  command->add_option("--threads", flags->threads, "0: as many as the machine has")
      ->check(CLI::Range(0U, 1024U));
  add_scenario_flags(*command, *flags);
  command->footer(
      "Example:\n"
      "  stepsight sweep --model llama2-7b --gpu h200-sxm --gpus 1,2,4,8 --batch 1,2,4,8 \\\n"
      "    --seq 1024,2048 --link nvlink4-nvswitch -o sweep.csv\n"
      "The same bytes come out whatever the number of threads; `stepsight merge` joins shards.");
  command->callback([flags, command] {
    note_given(*flags, *command);
    sweep_command(*flags);
  });
}

}  // namespace stepsight
