// `stepsight diagnose --table results.md`: a table of one job on several numbers of GPUs.
#pragma once
#include <string>

#include "reports/diagnose_report.h"

namespace stepsight {

// Each row against the one of fewest GPUs, and what of the job is not shared out. `same_work`:
// times in the table are of the same job; else each GPU keeps its batch. UserError where the file
// has no two rows of different numbers of GPUs.
DiagnosedTable diagnose_table(const std::string& file, bool same_work);

}  // namespace stepsight
