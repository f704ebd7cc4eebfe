// `stepsight diagnose RUNS.csv`: every row on several GPUs against the row on one of the same run.
#pragma once
#include <string>

#include "model/model_error.h"
#include "reports/diagnose_report.h"

namespace stepsight {

// UserError where the file cannot be read. A row without a partner on one GPU is judged by its step
// alone.
DiagnosedTable diagnose_runs(const std::string& file,
                             const std::string& only,
                             const ModelError& error);

}  // namespace stepsight
