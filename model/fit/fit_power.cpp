// What work draws, from mixes that were sustained until power and clock had settled.
#include <cmath>

#include "model/fit/fit_group.h"
#include "model/fit/fit_state.h"
#include "model/power.h"

namespace stepsight {

namespace {

// The energy of a FLOP with which this mix draws what it draws.
double flop_energy(const PowerPoint& mix, const PowerParameters<double>& power) {
  PowerParameters<double> rest = power;
  rest.flop_pJ = 0;
  const double left = mix.power_W - power_formula(mix.flop_per_s, mix.bytes_per_s, mix.clock, rest);
  return left / (mix.flop_per_s * std::pow(mix.clock, power.clock_exponent)) * 1e12;
}

// Class values but for the energy of a FLOP.
void record_flop_energy(FitState& f,
                        double energy_pJ,
                        std::size_t points,
                        const std::string& source) {
  PowerParameters<double>& power = f.out.profile.power;
  power.flop_pJ = energy_pJ;
  record(f, "power", power, nullptr, 0, f.class_source);
  for (ParameterRecord& r : f.out.profile.records) {
    if (r.name != "power.flop_pJ") continue;
    r.points = static_cast<int>(points);
    r.sd = 0.1 * r.value;
    r.source = source;
  }
}

// Too few mixes for all parameters.
void fit_few_mixes(FitState& f) {
  std::vector<double> energies;
  for (const PowerPoint& p : f.measured.powers)
    energies.push_back(flop_energy(p, f.out.profile.power));
  record_flop_energy(f, median(energies), energies.size(), sources_of(f, f.measured.powers));
}

}  // namespace

void fit_power(FitState& f) {
  PowerParameters<double>& power = f.out.profile.power;
  power = f.class_values.power;
  const auto fields = static_cast<std::size_t>(PowerParameters<double>::fields().size());
  if (f.measured.powers.size() < fields) {
    if (!f.measured.powers.empty()) return fit_few_mixes(f);
    record(f, "power", power, nullptr, 0, f.class_source);
    return;
  }
  const Solution solution = solve_power(f.measured.powers, power);
  power = unpacked<PowerParameters>(solution.values);
  std::vector<double> errors;
  for (const PowerPoint& p : f.measured.powers) {
    errors.push_back(
        std::abs(power_formula(p.flop_per_s, p.bytes_per_s, p.clock, power) / p.power_W - 1));
  }
  const int count = static_cast<int>(f.measured.powers.size());
  f.out.profile.quality.push_back({"power", count, 0, median(errors), 0, 0});
  record(f, "power", power, &solution, count, sources_of(f, f.measured.powers));
}

}  // namespace stepsight
