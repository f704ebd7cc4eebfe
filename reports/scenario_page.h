// The report of a scenario as a document: what it answers, how it scales, where a step's time goes,
// memory, and what all of it rests on.
#pragma once
#include <string>
#include <vector>

#include "model/profile.h"
#include "reports/document.h"
#include "reports/predict_report.h"
#include "reports/words.h"
#include "simulate/quick_study.h"
#include "simulate/step_trace.h"
#include "simulate/study.h"

namespace stepsight {

struct ScenarioReport {
  std::string title;
  std::vector<std::string> axes;                      // keys given as arrays
  std::vector<std::vector<std::string>> coordinates;  // [point][axis]: the values, as written
  std::vector<QuickPoint> sweep;                      // every point of the scenario, at least one
  std::vector<std::string> notes;                     // what the program chose for the user
  StudyPoint focus;                                   // the point that the page explains
  std::vector<StudyPoint>
      curve;  // that one with fewer GPUs, rising to itself (simulate/scaling_curve.h)
  std::vector<StudyPoint> larger;  // and with more, where it has prices
  StepTrace trace;                 // of that one
  std::string scenario_text;       // the TOML to copy
  std::string command;             // that asks the same in a terminal; empty: none does
};

// `gpu` is the card of the point that the page explains.
Document scenario_page(const ScenarioReport& report, const GpuProfile& gpu, const Words& words);

// Its parts, each a section about one point.
Section answer_section(const StudyPoint& point, const GpuProfile& gpu, const Words& words);
Section scaling_section(const std::vector<StudyPoint>& curve, const Words& words);
Section sweep_section(const ScenarioReport& report, const Words& words);
Section waterfall_section(const StudyPoint& point, const Words& words);
Section kernels_section(const StudyPoint& point, const Words& words);
Section timeline_section(const StepTrace& trace, const Words& words);
Section memory_section(const StudyPoint& point, const GpuProfile& gpu, const Words& words);
// `counts`: the point with fewer and with more GPUs, rising.
Section cost_section(const StudyPoint& point,
                     const std::vector<StudyPoint>& counts,
                     const Words& words);
Section sensitivity_section(const Uncertainty& uncertainty, const Words& words);
Section assumptions_section(const StudyPoint& point,
                            const GpuProfile& gpu,
                            const std::vector<std::string>& notes,
                            const Words& words);
Section profile_section(const GpuProfile& gpu, const Words& words);

}  // namespace stepsight
