// The curve of a collective on a link by name: measured where somebody measured it, between group
// sizes that were measured where that can be told, else by class.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/collective.h"
#include "model/link_class.h"
#include "model/profile.h"

namespace stepsight {

// A class of machine whose collectives were measured (model/io/link_file.h): all kinds and group
// sizes that there are sweeps of.
struct MeasuredLink {
  std::string name;
  std::string title;
  LinkClass link_class;  // for what was not measured
  std::string link_class_name;
  std::int64_t gpus_per_node = 8;  // how the measured ranks were spread over machines
  std::vector<CollectiveCurve> curves;
  std::vector<FitQuality> quality;  // "all_reduce.8", in the order of the curves
  std::vector<std::string> sources;
};

// All that a scenario's link name and topology file stand for.
struct LinkFacts {
  std::string name;  // as the scenario has it
  std::optional<MeasuredLink> measured;
  std::optional<LinkClass> link_class;
};

enum class CurveOrigin : std::uint8_t { measured, interpolated, class_value };

struct LinkCurve {
  CollectiveCurve curve;
  CurveOrigin origin = CurveOrigin::class_value;
};

// Nothing when the name is neither a measured link nor a class. A group size between measured ones
// takes the class's values times what measurement made of them at its neighbours; one beyond them
// what it made of the nearest. UserError as class_parameters().
std::optional<LinkCurve> link_curve(const LinkFacts& link, const CollectiveGroup& group);

// "measured", "between measured group sizes", "class value, +-40 %"
std::string_view describe(CurveOrigin origin);

}  // namespace stepsight
