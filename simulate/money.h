// What a scenario's run costs and how long it takes: rented, or bought and written off over its
// life. Amounts are in the scenario's currency; times in hours where the name says so, else in
// seconds.
#pragma once
#include <optional>

#include "model/profile.h"
#include "model/scenario.h"
#include "simulate/goodput.h"

namespace stepsight {

// A figure that follows the step's time, with what it is at the ends of the step's interval.
struct Figure {
  double value = 0;
  double low = 0;   // at the lower end
  double high = 0;  // at the upper end
};

// The step, and the interval of 90 % around it; where no interval is known all are the step.
struct StepRange {
  double step = 0, low = 0, high = 0;
};

struct Spending {
  double per_hour = 0;  // while the run lasts
  Figure per_step;
  Figure per_million;  // tokens; images of a model that takes images
  std::optional<Figure> per_run;
};

struct Purchase {
  double cards = 0;
  double machines = 0;
  double bridges = 0;
  double network = 0;   // adapters, and their share of the switches
  double facility = 0;  // rooms, cooling, racks
  [[nodiscard]] double total() const { return cards + machines + bridges + network + facility; }
};

struct Money {
  std::optional<Figure> run_s;  // time to train, failures and checkpoints included
  std::optional<double> steps;  // of the run
  Goodput goodput;
  std::optional<double> power_kW;  // at the meter; nothing where the card's power is not known
  std::optional<Spending> rent;
  std::optional<Spending> own;
  Purchase purchase;
  // Hours of training after which the purchase with its power has cost less than renting; nothing
  // where it never does or one of the two has no price.
  std::optional<double> break_even_hours;
  bool price_missing = false;  // a list of prices was named, and it has none of the card
  double life_hours = 0;       // hours of training in the purchase's life

  // The cheaper of the two; null where nothing has a price.
  [[nodiscard]] const Spending* cheaper() const;
};

// Nothing where neither a price nor the length of a run was given.
std::optional<Money> money_of(const Scenario& scenario,
                              const GpuProfile& gpu,
                              const StepRange& step);

// What must be bought for the scenario's cluster; gpu_price must be known.
Purchase purchase_of(const Scenario& scenario);

// Samples (sequences or images) of a step over all GPUs, and tokens of one.
double samples_of_step(const Scenario& scenario);
double tokens_of_step(const Scenario& scenario);

}  // namespace stepsight
