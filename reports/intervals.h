// The 90 % intervals of a prediction's figures for machines: the same in every output that has
// them.
#pragma once
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "simulate/study.h"

namespace stepsight {

// Which figures there are: a trace tells no tokens, no MFU and nothing of one GPU's work shared
// out.
enum class Figures { of_model, of_trace };

// {"p5", "p50", "p95"}
nlohmann::ordered_json quantiles_json(const Quantiles& q);
// Of the step, the rates, MFU and exposed communication, each under the key of its figure.
nlohmann::ordered_json intervals_json(const StudyPoint& point, Figures figures);
// {"one_gpu_step_s", "step_s", "speedup", "efficiency", "intervals"}
nlohmann::ordered_json scaling_json(const ScalingPoint& point);
// What makes the step unsure, and what to measure first.
nlohmann::ordered_json uncertainty_json(const Uncertainty& uncertainty);

// Two columns an interval, "..._p5" and "..._p95" (the figure itself is p50); a header and a row,
// each cell with a comma before it, empty where there is no interval.
std::string interval_csv_header(Figures figures);
std::string interval_csv_cells(const StudyPoint& point, Figures figures);
// The same of what money_csv_header() names.
std::string money_interval_csv_header();
std::string money_interval_csv_cells(const std::optional<Money>& money);

}  // namespace stepsight
