#include "simulate/link.h"

#include <algorithm>
#include <charconv>

#include "model/errors.h"

namespace stepsight {

namespace {

constexpr std::string_view loopback = "loopback:";

int parse_copies(std::string_view name) {
  const std::string_view digits = name.substr(loopback.size());
  int copies = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), copies);
  if (error != std::errc{} || end != digits.data() + digits.size() || copies < 0 || copies > 1000) {
    throw UserError("link '" + std::string(name) +
                    "': expected loopback:K with K copies each way, 0 to 1000");
  }
  return copies;
}

std::string measured_sizes(const GpuProfile& gpu, std::string_view name) {
  std::string sizes;
  for (const CollectiveCurve& curve : gpu.collectives) {
    if (curve.link != name || curve.kind != CollectiveKind::all_reduce) continue;
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(curve.ranks);
  }
  return sizes;
}

}  // namespace

std::vector<std::string> link_names(const GpuProfile& gpu) {
  std::vector<std::string> names;
  for (const CollectiveCurve& curve : gpu.collectives) names.push_back(curve.link);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Link resolve_link(const GpuProfile& gpu, std::string_view name, std::int64_t gpus) {
  if (name.starts_with(loopback)) return {Link::Kind::loopback, parse_copies(name), nullptr};
  if (gpus <= 1) return {};
  for (const CollectiveCurve& curve : gpu.collectives) {
    if (curve.link == name && curve.kind == CollectiveKind::all_reduce && curve.ranks == gpus) {
      return {Link::Kind::collective, 0, &curve};
    }
  }
  const std::string sizes = measured_sizes(gpu, name);
  if (!sizes.empty()) {
    throw UserError("link '" + std::string(name) + "' of " + gpu.name + " has no all-reduce over " +
                    std::to_string(gpus) + " GPUs; known: " + sizes);
  }
  std::string known;
  for (const std::string& link : link_names(gpu)) known += (known.empty() ? "" : ", ") + link;
  throw UserError("the profile " + gpu.name + " has no link '" + std::string(name) +
                  "'; known: " + (known.empty() ? "none" : known) + ", loopback:K");
}

LinkCost bucket_time(const Link& link, const GpuProfile& gpu, Bytes message) {
  switch (link.kind) {
    case Link::Kind::none:
      return {Seconds{0}, true};
    case Link::Kind::loopback: {
      const Seconds once = copy_formula(message.value, gpu.device_to_host) +
                           copy_formula(message.value, gpu.host_to_device);
      return {once * static_cast<double>(link.copies), true};
    }
    case Link::Kind::collective: {
      const CollectiveCost c = cost(*link.curve, message);
      return {c.time, c.measured};
    }
  }
  return {};
}

}  // namespace stepsight
