// A diagnosis as text and JSON, of one run or of a table of runs.
#pragma once
#include <string>
#include <vector>

#include "reports/words.h"
#include "simulate/diagnose.h"

namespace stepsight {

struct DiagnosedRun {
  std::string name;  // what was run: model, card, link; of a table the row's id
  DiagnoseQuestion question;
  Diagnosis diagnosis;
  std::vector<std::string> notes;  // what was assumed or read
};

// Its headings, figures and verdict are in the reader's language; causes and what to do about them
// in English.
std::string diagnosis_text(const DiagnosedRun& run, const Words& words = Words());
std::string diagnosis_json(const DiagnosedRun& run);

// One line a run, then how many there are of each verdict, and what was refused.
struct DiagnosedTable {
  std::vector<DiagnosedRun> runs;
  std::vector<std::string> refused;  // "row 12: no row of one GPU to compare with"
  std::string law;  // of one job on several numbers of GPUs: what is not shared out
};
std::string diagnoses_text(const DiagnosedTable& table, const Words& words = Words());
std::string diagnoses_json(const DiagnosedTable& table);

}  // namespace stepsight
