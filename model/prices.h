// What a training run costs and how long it may take, as a person says it: prices, the run's
// length, what interrupts it, and the limits that a plan keeps to. What becomes of them:
// simulate/money.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace stepsight {

// All amounts in one currency. An empty one was not given.
struct Prices {
  std::string list;        // price list that fills in what is not given (model/io/price_list.h)
  std::string list_title;  // what that list says of itself, with its date
  std::string currency;    // empty: "USD"

  std::optional<double> rent_per_gpu_hour;

  // Purchase. Adapters and their switch ports are priced by a sum each and by their rate, so that
  // networks of different speed can be held against each other.
  std::optional<double> gpu_price;
  std::optional<double> node_price;    // a machine without its cards
  std::optional<double> bridge_price;  // an NVLink bridge between two cards
  std::optional<double> nic_price;
  std::optional<double> nic_price_per_Gbps;
  std::optional<double> switch_price_per_Gbps;  // for every Gb/s of an adapter
  std::optional<double> facility_share;         // on top of the purchase: rooms, cooling, racks; 0
  std::optional<double> resale_share;           // of the purchase that is left at the end; 0
  std::optional<double> years;                  // of life; 3
  std::optional<double> utilisation;            // share of that life in which the machines train; 1

  // Power.
  std::optional<double> power_price_per_kWh;  // 0: not counted
  std::optional<double> gpu_power_W;          // empty: the card's limit
  std::optional<double> node_power_W;         // of a machine without its cards; 0
  std::optional<double> pue;                  // what the meter shows over what machines draw; 1

  // What a day is worth by which the run ends earlier: where the next card stops to pay.
  std::optional<double> day_worth;

  [[nodiscard]] bool any() const { return rent_per_gpu_hour || gpu_price || power_price_per_kWh; }
};

// How much is trained, and what interrupts it.
struct RunLength {
  double tokens = 0;          // of the whole run; 0: not said
  std::int64_t steps = 0;     // instead
  double gpu_mtbf_hours = 0;  // mean time between failures that one card's part of a machine
                              // causes; 0: nothing fails
  double checkpoint_s = 0;           // that the training stands still while it saves
  double checkpoint_interval_s = 0;  // 0: the best one
  double restart_s = 0;              // from a failure until training goes on
};

// What `plan` keeps to; empty: no limit.
struct PlanLimits {
  std::int64_t micro_batch = 0;  // sequences of a micro-step that are tried; 0: all that divide
  std::optional<double> deadline_days;
  std::optional<double> budget;
  std::optional<double> power_limit_kW;
};

}  // namespace stepsight
