// What is built in and what a profile says, for a terminal.
#pragma once
#include <span>
#include <string>

#include "model/link_curve.h"
#include "model/model_shape.h"
#include "model/profile.h"

namespace stepsight {

std::string models_text(std::span<const ModelShape> models);
std::string model_text(const ModelShape& model);
std::string gpus_text(std::span<const GpuProfile> gpus);
std::string profiles_text(std::span<const GpuProfile> profiles);
std::string profile_report_text(const GpuProfile& profile);

// A collective on a link for one number of GPUs.
struct LinkRow {
  std::string card;  // whose profile has it; empty for a link that is no card's
  CollectiveCurve curve;
  CurveOrigin origin = CurveOrigin::measured;
};
// One line a row, by the largest messages; then how links are named.
std::string links_text(std::span<const LinkRow> rows);
// What messages from 64 kB to 1 GB take.
std::string link_text(std::span<const LinkRow> rows);

std::string models_json(std::span<const ModelShape> models);
std::string profiles_json(std::span<const GpuProfile> profiles);
std::string links_json(std::span<const LinkRow> rows);

}  // namespace stepsight
