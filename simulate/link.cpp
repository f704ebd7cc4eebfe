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

std::string unknown_link(const GpuProfile& gpu, std::string_view name, std::int64_t gpus) {
  const std::string sizes = measured_sizes(gpu, name);
  if (!sizes.empty()) {
    return "link '" + std::string(name) + "' of " + gpu.name + " has no all-reduce over " +
           std::to_string(gpus) + " GPUs; known: " + sizes;
  }
  std::string known;
  for (const std::string& link : link_names(gpu)) known += (known.empty() ? "" : ", ") + link;
  return "the profile " + gpu.name + " has no link '" + std::string(name) +
         "'; known: " + (known.empty() ? "" : known + ", ") +
         "loopback:K, those of `stepsight show links`, and classes such as pcie4-x16-nop2p, "
         "nvlink3-nvswitch or nvlink4-nvswitch+8x400G-ib";
}

}  // namespace

std::vector<std::string> link_names(const GpuProfile& gpu) {
  std::vector<std::string> names;
  for (const CollectiveCurve& curve : gpu.collectives) names.push_back(curve.link);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

namespace {

Link as_it_is(const GpuProfile& gpu, const Cluster& cluster, const CollectiveGroup& group) {
  for (const CollectiveCurve& curve : gpu.collectives) {
    if (curve.link == cluster.link && curve.kind == group.kind && curve.ranks == group.ranks &&
        group.nodes == 1 && cluster.topo.empty()) {
      // Not owned: the profile outlives what is computed with it.
      return {Link::Kind::collective,
              0,
              {std::shared_ptr<const void>(), &curve},
              CurveOrigin::measured};
    }
  }
  std::optional<LinkCurve> found;
  if (cluster.facts) {
    found = link_curve(*cluster.facts, group);
  } else if (const auto by_class = parse_link_class(cluster.link)) {
    found = link_curve({cluster.link, std::nullopt, by_class}, group);
  }
  if (!found) throw UserError(unknown_link(gpu, cluster.link, group.ranks));
  return {Link::Kind::collective,
          0,
          std::make_shared<CollectiveCurve>(std::move(found->curve)),
          found->origin};
}

}  // namespace

Link resolve_collective(const GpuProfile& gpu,
                        const Cluster& cluster,
                        const CollectiveGroup& group) {
  Link link = as_it_is(gpu, cluster, group);
  if (cluster.link_speed == 1) return link;
  auto faster = std::make_shared<CollectiveCurve>(*link.curve);
  faster->parameters.busbw_GBps *= cluster.link_speed;
  link.curve = std::move(faster);
  return link;
}

Link loopback_link(const Cluster& cluster) {
  if (!cluster.link.starts_with(loopback)) return {};
  return {Link::Kind::loopback, parse_copies(cluster.link), nullptr, CurveOrigin::measured};
}

Link resolve_link(const GpuProfile& gpu, const Cluster& cluster) {
  if (cluster.link.starts_with(loopback)) return loopback_link(cluster);
  if (cluster.gpus <= 1) return {};
  return resolve_collective(
      gpu, cluster, {CollectiveKind::all_reduce, cluster.gpus, cluster.nodes});
}

Link resolve_link(const GpuProfile& gpu, std::string_view name, std::int64_t gpus) {
  Cluster cluster;
  cluster.link = name;
  cluster.gpus = gpus;
  return resolve_link(gpu, cluster);
}

LinkCost message_time(const Link& link, const GpuProfile& gpu, Bytes message) {
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
