// What is built in and what a profile says, for a terminal.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "model/model_shape.h"
#include "model/profile.h"

namespace stepsight {

std::string models_text(std::span<const ModelShape> models);
std::string model_text(const ModelShape& model);
std::string gpus_text(std::span<const GpuProfile> gpus);
std::string profiles_text(std::span<const GpuProfile> profiles);
std::string profile_report_text(const GpuProfile& profile);
// The links of these profiles, one line a collective and group size.
std::string links_text(std::span<const GpuProfile> profiles);
// What messages from 64 kB to 1 GB take on one of the links.
std::string link_text(std::string_view name, std::span<const GpuProfile> profiles);

std::string models_json(std::span<const ModelShape> models);
std::string profiles_json(std::span<const GpuProfile> profiles);
std::string links_json(std::span<const GpuProfile> profiles);

}  // namespace stepsight
