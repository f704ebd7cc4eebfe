// Power: what a mix of work draws, and the clock at which a step stays within the card's limit.
// Large products draw more at the highest clock than the card may, so a step that is mostly
// products runs slower than its products do one by one.
#pragma once
#include <cmath>

#include "model/dtype.h"
#include "model/parameters.h"

namespace stepsight {

struct GpuProfile;

// Watts of a mix that does this much a second at `clock` (a fraction of the highest). The energy of
// an operation falls with the voltage, and the voltage with the clock; memory has its own clock.
template <typename T>
T power_formula(double flop_per_s, double bytes_per_s, double clock, const PowerParameters<T>& p) {
  using std::pow;
  const T voltage = pow(T(clock), p.clock_exponent);
  return p.static_W * voltage + flop_per_s * p.flop_pJ * 1e-12 * voltage +
         bytes_per_s * p.byte_pJ * 1e-12;
}

// What a step does at the highest clock.
struct StepEnergy {
  double flop = 0;  // counted in the energy of a bf16 FLOP
  double bytes = 0;
  double clocked_s = 0;  // products and attention: their time goes with the clock
  double other_s = 0;    // bound by memory
  double least_s = 0;    // the step is at least this long, whatever the clock (host, link)
};

// Energy of a FLOP of this format in units of bf16's: as the vendor's peak rates, since a card is
// built to do either within the same power.
double energy_of_flop(const GpuProfile& gpu, Dtype dtype);

// The highest clock, as a fraction, at which the step's mean power stays within the limit; 1 when
// the limit is not reached or not known.
double clock_under_limit(const StepEnergy& step, const GpuProfile& gpu);

}  // namespace stepsight
