// Inputs of a step made longer or shorter, in a profile and on a link: what what-ifs about a
// prediction ask with, and what measured runs make of a machine's files.
//
// Every formula of model/cost.h is homogeneous: with starts times f, rates over f and slow-downs as
// they are, its time is f times as long at every shape, and so are the measured points, which are
// kept as residuals over it.
#pragma once
#include "model/profile.h"
#include "simulate/link.h"
#include "simulate/step_input.h"

namespace stepsight {

// exp() of changes: what each input's time is multiplied by.
using InputFactors = std::array<double, step_input_count>;
InputFactors factors_of(const InputChanges& changes);

// Products, attention and convolutions. Of convolutions the factor is on all of their time,
// whatever that of the products they amount to.
void scale_compute(GpuProfile& gpu, const InputFactors& factors);
// All that a profile has besides: passes, host, copies, rates beside communication, energy.
// Collectives stay.
void scale_others(GpuProfile& gpu, const InputFactors& factors);

void scale(CollectiveParameters<double>& link, const InputFactors& factors);
// Of a collective a new curve; others stay.
void scale(Link& link, const InputFactors& factors);

// What pricing a step reads of a profile once products, attention and convolutions are priced:
// cheap to copy and to change.
GpuProfile what_pricing_reads(const GpuProfile& gpu);

// scale_others() for as long as it lives; `gpu` must outlive it.
class ChangedProfile {
 public:
  ChangedProfile(GpuProfile& gpu, const InputFactors& factors);
  ChangedProfile(const ChangedProfile&) = delete;
  ChangedProfile& operator=(const ChangedProfile&) = delete;
  ~ChangedProfile();

 private:
  GpuProfile& gpu_;
  decltype(GpuProfile::pass) pass_;
  HostParameters<double> host_;
  CopyParameters<double> up_, down_;
  OverlapParameters<double> overlap_;
  PowerParameters<double> power_;
};

}  // namespace stepsight
