#include "model/link_curve.h"

#include <cmath>

namespace stepsight {

namespace {

std::int64_t nodes_of(const MeasuredLink& link, std::int64_t ranks) {
  return (ranks + link.gpus_per_node - 1) / link.gpus_per_node;
}

const CollectiveCurve* measured_curve(const MeasuredLink& link, const CollectiveGroup& group) {
  for (const CollectiveCurve& c : link.curves) {
    const bool same = c.kind == group.kind && c.ranks == group.ranks && group.sharing == 1;
    if (same && nodes_of(link, c.ranks) == group.nodes) return &c;
  }
  return nullptr;
}

// log(measured / class) of each parameter at a measured group size.
using Correction = std::array<double, CollectiveParameters<double>::fields().size()>;

Correction correction_at(const MeasuredLink& link, const CollectiveCurve& curve) {
  const CollectiveParameters<double> by_class =
      class_parameters(link.link_class, {curve.kind, curve.ranks, nodes_of(link, curve.ranks)});
  Correction out{};
  std::size_t i = 0;
  for (const auto& field : CollectiveParameters<double>::fields()) {
    // A fitted ramp or latency may be 0: a floor keeps its logarithm finite.
    const double floor = 0.05 * by_class.*field.member;
    out[i++] = std::log(std::max(curve.parameters.*field.member, floor) / by_class.*field.member);
  }
  return out;
}

// The nearest measured curves of the kind at and below, and at and above, a number of ranks; of the
// same side of a machine's border.
struct Around {
  const CollectiveCurve* below = nullptr;
  const CollectiveCurve* above = nullptr;
};

Around around(const MeasuredLink& link, const CollectiveGroup& group) {
  Around out;
  for (const CollectiveCurve& c : link.curves) {
    const bool same_side = (nodes_of(link, c.ranks) > 1) == (group.nodes > 1);
    if (c.kind != group.kind || !same_side) continue;
    if (c.ranks <= group.ranks && (!out.below || c.ranks > out.below->ranks)) out.below = &c;
    if (c.ranks >= group.ranks && (!out.above || c.ranks < out.above->ranks)) out.above = &c;
  }
  return out;
}

CollectiveParameters<double> corrected(const MeasuredLink& link,
                                       const CollectiveGroup& group,
                                       const Around& near) {
  const CollectiveCurve& low = near.below ? *near.below : *near.above;
  const CollectiveCurve& high = near.above ? *near.above : *near.below;
  const Correction a = correction_at(link, low);
  const Correction b = correction_at(link, high);
  const double span = std::log2(static_cast<double>(high.ranks) / static_cast<double>(low.ranks));
  const double way =
      span > 0 ? std::log2(static_cast<double>(group.ranks) / static_cast<double>(low.ranks)) / span
               : 0;
  CollectiveParameters<double> p = class_parameters(link.link_class, group);
  std::size_t i = 0;
  for (const auto& field : CollectiveParameters<double>::fields()) {
    p.*field.member *= std::exp(a[i] + way * (b[i] - a[i]));
    ++i;
  }
  return p;
}

LinkCurve unmeasured(const LinkFacts& link, const CollectiveGroup& group) {
  LinkCurve out;
  out.curve.link = link.name;
  out.curve.kind = group.kind;
  out.curve.ranks = group.ranks;
  return out;
}

}  // namespace

std::optional<LinkCurve> link_curve(const LinkFacts& link, const CollectiveGroup& group) {
  if (link.measured) {
    if (const CollectiveCurve* c = measured_curve(*link.measured, group)) {
      return LinkCurve{*c, CurveOrigin::measured};
    }
    const Around near = around(*link.measured, group);
    if (near.below || near.above) {
      LinkCurve out = unmeasured(link, group);
      out.origin = CurveOrigin::interpolated;
      out.curve.parameters = corrected(*link.measured, group, near);
      out.curve.source = "between measured group sizes of " + link.measured->name;
      return out;
    }
  }
  const LinkClass* by_class = link.link_class ? &*link.link_class
                              : link.measured ? &link.measured->link_class
                                              : nullptr;
  if (by_class == nullptr) return std::nullopt;
  LinkCurve out = unmeasured(link, group);
  out.curve.parameters = class_parameters(*by_class, group);
  out.curve.source = by_class->busbw_GBps > 0 ? "bandwidth as given with the link" : "class value";
  return out;
}

std::string_view describe(CurveOrigin origin) {
  switch (origin) {
    case CurveOrigin::measured:
      return "measured";
    case CurveOrigin::interpolated:
      return "between measured group sizes";
    case CurveOrigin::class_value:
      break;
  }
  return "class value, +-40 %";
}

}  // namespace stepsight
