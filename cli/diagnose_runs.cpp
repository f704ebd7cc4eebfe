#include "cli/diagnose_runs.h"

#include <map>

#include <fmt/format.h>

#include "cli/links.h"
#include "cli/profiles.h"
#include "model/errors.h"
#include "model/io/run_scenario.h"
#include "model/io/runs_csv.h"
#include "model/parallel_layout.h"

namespace stepsight {

namespace {

// What must be alike in two rows for the one to be the other's one-GPU run.
std::string partner_key(const MeasuredRun& r) {
  const auto number = [](const std::optional<std::int64_t>& v) {
    return v ? std::to_string(*v) : std::string("-");
  };
  std::string key = r.source + "\n" + r.source_table + "\n" + r.gpu + "\n" + r.model + "\n" +
                    r.std_compute + "\n" + r.std_compile + "\n" + r.std_flash + "\n" +
                    r.std_recompute + "\n" + r.precision;
  for (const auto* v : {&r.seq, &r.micro_batch, &r.grad_accum}) key += "\n" + number(*v);
  return key;
}

class RunTable {
 public:
  RunTable(const std::vector<MeasuredRun>& runs, const ModelError& error) : error_(error) {
    for (const MeasuredRun& r : runs) {
      if (r.gpus.value_or(0) == 1) one_.emplace(partner_key(r), r.step_time_s);
    }
  }

  void add(const MeasuredRun& run) {
    if (run.gpus.value_or(1) < 2) return;
    const auto answer = scenario_of(run);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) return refuse(run, refusal->reason);
    DiagnosedRun out;
    out.name = run.id;
    DiagnoseQuestion& q = out.question;
    q.scenario = std::get<Scenario>(answer);
    const GpuProfile* gpu = profiles_.find(q.scenario->cluster.gpu);
    if (gpu == nullptr) return refuse(run, "no profile of " + q.scenario->cluster.gpu);
    q.gpus = q.scenario->cluster.gpus;
    q.nodes = q.scenario->cluster.nodes;
    q.n = run.step_time_s;
    // One GPU alone says something of N only where all of them hold the whole model.
    const auto partner = one_.find(partner_key(run));
    if (partner != one_.end() && data_parallel(*q.scenario) == q.gpus) q.one = partner->second;
    try {
      q.scenario->cluster.facts = links_.get(q.scenario->cluster.link);
      out.diagnosis = diagnose(q, gpu, error_);
    } catch (const UserError& e) {
      return refuse(run, e.what());
    }
    table_.runs.push_back(std::move(out));
  }

  DiagnosedTable take() { return std::move(table_); }

 private:
  void refuse(const MeasuredRun& run, const std::string& why) {
    table_.refused.push_back(fmt::format("line {} ({}): {}", run.line, run.id, why));
  }

  const ModelError& error_;
  std::map<std::string, double> one_;
  Profiles profiles_;
  Links links_;
  DiagnosedTable table_;
};

}  // namespace

DiagnosedTable diagnose_runs(const std::string& file,
                             const std::string& only,
                             const ModelError& error) {
  const std::vector<MeasuredRun> runs = read_runs(file);
  RunTable table(runs, error);
  for (const MeasuredRun& run : runs) {
    if (run.id.starts_with(only)) table.add(run);
  }
  return table.take();
}

}  // namespace stepsight
