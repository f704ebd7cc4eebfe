// The answer for a traced step: what `predict` says of a scenario, as far as a trace can tell.
#pragma once
#include "model/traced_step.h"
#include "simulate/levers.h"
#include "simulate/predict.h"
#include "simulate/study.h"
#include "simulate/traced_costs.h"
#include "simulate/waterfall.h"

namespace stepsight {

// Of the prediction, what needs an architecture is left at zero: tokens_per_s, mfu and memory; and
// samples_per_s, which needs the batch. Scaling is weak, the batch of each GPU kept: a trace stands
// for no other.
struct TracedPoint {
  StudyPoint point;
  TracedCosts costs;
  double traced_host_s = 0;  // the host's issue time of a step under the profiler
};

// `traced_on`: the profile of the card that the trace is of; null: it is `gpu`. Without intervals
// and money. Precondition: every gradient has its elements. UserError for a link that is not known.
TracedPoint predict_traced(const TracedStep& step,
                           const Scenario& scenario,
                           const GpuProfile& gpu,
                           const GpuProfile* traced_on = nullptr);

// The same with intervals, as study() gives them. A kernel that runs where it was traced is its own
// measurement; one that was carried over from another card is as sure as both cards' profiles are,
// and as a class value where only a rate could be compared. Money where the scenario has prices or
// a run's length: its batch is what each GPU takes in a step, one sample where nobody said.
TracedPoint study_traced(const TracedStep& step,
                         const Scenario& scenario,
                         const GpuProfile& gpu,
                         const GpuProfile* traced_on,
                         const ModelError& error);

// Where the traced step's time goes; `prediction` as predict_traced() gives it.
Waterfall traced_waterfall(const TracedStep& step,
                           const Scenario& scenario,
                           const GpuProfile& gpu,
                           const GpuProfile* traced_on,
                           const Prediction& prediction);

// What a person could change about the machines, the exchange and its disturbances, each simulated
// (simulate/levers.h). No other batch and no other kernels: a trace stands for none. Memory is not
// looked at.
std::vector<Lever> traced_levers(const TracedStep& step,
                                 const Scenario& scenario,
                                 const GpuProfile& gpu,
                                 const GpuProfile* traced_on,
                                 const Prediction& now,
                                 const ModelError& error);

// One GPU, which exchanges nothing.
Scenario alone_of_trace(Scenario scenario);

// How much longer `other` computes the traced step alone than `card` does, each with the profile
// that its kernels are carried over from (null: none); 1 where it is faster.
double traced_slowdown(const TracedStep& step,
                       const GpuProfile& card,
                       const GpuProfile* card_from,
                       const GpuProfile& other,
                       const GpuProfile* other_from);

}  // namespace stepsight
