#include "cli/diagnose_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/errors.h"
#include "model/io/logs/read_log.h"
#include "reports/text_table.h"
#include "simulate/diagnose_bounds.h"
#include "simulate/scaling_table.h"

namespace stepsight {

namespace {

// Seconds of the same work, or of one sample where the table has rates.
double same_work_seconds(const ScalingRow& row, bool same_work) {
  if (row.rate) return 1 / *row.rate;
  return same_work ? *row.seconds : *row.seconds / static_cast<double>(row.gpus);
}

DiagnosedRun diagnosed(const ScalingTime& base, const ScalingTime& time) {
  DiagnosedRun run;
  run.name = fmt::format("{} GPUs against {}", time.gpus, base.gpus);
  DiagnoseQuestion& q = run.question;
  // Groups as large as the smallest stand for cards.
  q.gpus = time.gpus / base.gpus;
  q.same_work = true;
  q.one = base.seconds;
  q.n = time.seconds;
  q.relative = true;
  run.diagnosis = diagnose_bounds(q);
  return run;
}

}  // namespace

DiagnosedTable diagnose_table(const std::string& file, bool same_work) {
  const StepLog log = read_step_log(file);
  std::vector<ScalingTime> times;
  for (const ScalingRow& row : log.rows)
    times.push_back({row.gpus, same_work_seconds(row, same_work)});
  std::ranges::sort(times, {}, &ScalingTime::gpus);
  if (times.size() < 2 || times.front().gpus == times.back().gpus) {
    throw UserError(
        file + ": holds no two rows of different numbers of GPUs with a time or a rate (read as " +
        log.format + "; columns such as \"GPUs\" and \"Throughput (img/s)\" or \"seconds\")");
  }
  DiagnosedTable out;
  for (const ScalingTime& t : times) {
    if (t.gpus == times.front().gpus) continue;
    if (t.gpus % times.front().gpus != 0) {
      out.refused.push_back(fmt::format("{} GPUs: no multiple of {}", t.gpus, times.front().gpus));
      continue;
    }
    out.runs.push_back(diagnosed(times.front(), t));
  }
  const ScalingLaw law = scaling_law(times);
  out.law = describe(law, times.back().gpus);
  if (law.most_speedup > 0) {
    out.law += fmt::format(": no number of GPUs is more than {} times as fast as one",
                           format_significant(law.most_speedup));
  }
  if (law.constant_share > 0.5) {
    out.law +=
        ". Validation or saving on one rank, scanning the data set, starting workers in each "
        "epoch, a shared "
        "file system: what takes as long on any number of GPUs";
  }
  return out;
}

}  // namespace stepsight
