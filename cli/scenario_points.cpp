// What needs no command line of cli/scenario_flags.h: the page's own program has none.
#include "cli/scenario_flags.h"
#include "simulate/link.h"

namespace stepsight {

void note_link(const Scenario& scenario, const GpuProfile& gpu, std::vector<std::string>& notes) {
  const Link link = resolve_link(gpu, scenario.cluster);
  if (link.kind != Link::Kind::collective || link.origin == CurveOrigin::measured) return;
  notes.push_back(scenario.cluster.link + ": " + std::string(describe(link.origin)) +
                  ". An all-reduce sweep of the machine, given to `stepsight fit --link`, would "
                  "put a measurement in its place.");
}

std::vector<std::vector<std::string>> coordinates_of(const ScenarioFile& file) {
  std::vector<std::vector<std::string>> out;
  out.reserve(file.points.size());
  for (std::size_t i = 0; i < file.points.size(); ++i) {
    std::vector<std::string> values;
    const std::vector<std::size_t> at = coordinates(file, i);
    for (std::size_t a = 0; a < at.size(); ++a) values.push_back(file.axis_values[a][at[a]]);
    out.push_back(std::move(values));
  }
  return out;
}

}  // namespace stepsight
