// What more cards bring, and what other links or cards are worth: answers of one sweep held against
// each other.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/study.h"

namespace stepsight {

// What added cards bring, of one draw of the steps' errors or as predicted.
struct MarginalFigures {
  double throughput_per_gpu = 0;  // samples/s that each added GPU brings
  double share_of_first = 0;      // over what each of the fewest GPUs does
  // Of the whole run, where its length and a price are known.
  std::optional<double> added_cost;  // below 0: more cards make it cheaper
  std::optional<double> days_saved;
  std::optional<double> cost_per_day;  // that is saved; nothing where none is
  // A million tokens more at the same time: added cost an hour over added throughput.
  std::optional<double> cost_per_added_million;
  // Hours of training after which the added cards, bought, have earned what they lose over their
  // life: an hour is worth the days that they save (`day_worth`), else the rent of the throughput
  // that they add at the price of `from`; their power is taken off. Nothing where that is never or
  // a price is not known.
  std::optional<double> payback_hours;
  bool worth_it = true;
};

// The interval of 90 % of each figure, by draws that all points share (simulate/joint_draws.h).
// Nothing in p95 where a cost or a payback is without end in too many of them.
struct MarginalRange {
  MarginalFigures p5, p95;
  double worth_it = 0;  // share of the draws
};

// From one number of GPUs to the next larger of the same question.
struct MarginalStep : MarginalFigures {
  std::size_t from = 0, to = 0;  // points of the sweep
  double added_gpus = 0;
  std::optional<MarginalRange> range;  // nothing where the predictions have no intervals
};

// How sure it is up to where the next card is worth it.
struct WorthRange {
  std::size_t p5 = 0, p95 = 0;  // points, as last_worth is one
  double same = 0;              // share of the draws in which it is last_worth
};

// Points that differ only in their number of GPUs, by ascending number.
struct MarginalLine {
  std::vector<std::size_t> points;
  std::vector<MarginalStep> steps;
  std::size_t last_worth = 0;  // point after which the next card is not worth it
  std::optional<WorthRange> range;
};

// The axes of a sweep and where each point stands on them, as they were written.
struct SweepAxes {
  std::span<const std::string> axes;
  std::span<const std::vector<std::string>> coordinates;  // [point][axis]
};

// An added card is worth it while a day that it saves costs no more than `day_worth`, where that
// and the run's length are known; else while it brings at least `least_share` of what a card of the
// smallest number brings. Points that do not fit into memory are left out. No line has fewer than
// two points.
inline constexpr double least_share = 0.5;
std::vector<MarginalLine> marginal_lines(std::span<const StudyPoint> points, const SweepAxes& axes);

// What another link or card does.
struct ExchangedFigures {
  double throughput_ratio = 1;       // to over from
  std::optional<double> cost_ratio;  // of a million tokens
  // What an hour with `to` may cost at most, so that a million tokens cost no more than with
  // `from`; and what it may cost more to buy than `from`, where `from` is bought.
  std::optional<double> worth_per_hour;
  std::optional<double> worth_more_to_buy;
};

// One link or card in place of another, all else equal.
struct Exchanged : ExchangedFigures {
  std::size_t from = 0, to = 0;  // points; `from` has the axis' first value
  struct Range {
    ExchangedFigures p5, p95;
  };
  std::optional<Range> range;  // as MarginalStep::range
};
// Along the axis of that key ("link", "gpu"); empty where the sweep has none.
std::vector<Exchanged> exchanged(std::span<const StudyPoint> points,
                                 const SweepAxes& axes,
                                 std::string_view key);

}  // namespace stepsight
