// From flags and logs to the question that simulate/diagnose.h answers.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/profiles.h"
#include "cli/scenario_flags.h"
#include "reports/diagnose_report.h"

namespace stepsight {

struct DiagnoseFlags : ScenarioFlags {
  std::string runs;   // CSV
  std::string table;  // of one job on several numbers of GPUs
  std::string only;
  std::string output;
  std::optional<double> t1, tn, rate1, raten;
  std::optional<double> data1, datan, communication, divided, parameters;
  std::string log1, logn, utilisation, nccl_log;
  bool same_work = false;
  bool data_parallel = false;
  bool json = false;
  std::string language = "en";
  bool check = false;
};

// What is known, and the notes of what was assumed. UserError for flags that contradict each other,
// files that cannot be read, and where the step time on N GPUs is missing.
DiagnosedRun diagnose_question(const DiagnoseFlags& flags, Profiles& profiles);

}  // namespace stepsight
