#include "simulate/marginal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "simulate/joint_draws.h"

namespace stepsight {

namespace {

constexpr double day = 86400;

// Points that stand at the same place on every axis but that of `key`, in the order of the sweep.
std::vector<std::vector<std::size_t>> equal_but(const SweepAxes& at, std::string_view key) {
  std::map<std::vector<std::string>, std::vector<std::size_t>> groups;
  std::vector<std::vector<std::string>> order;
  for (std::size_t i = 0; i < at.coordinates.size(); ++i) {
    std::vector<std::string> rest;
    for (std::size_t a = 0; a < at.axes.size(); ++a) {
      if (at.axes[a] != key) rest.push_back(at.coordinates[i][a]);
    }
    auto& group = groups[rest];
    if (group.empty()) order.push_back(rest);
    group.push_back(i);
  }
  std::vector<std::vector<std::size_t>> out;
  for (const auto& rest : order) out.push_back(groups[rest]);
  return out;
}

double throughput(const StudyPoint& p) {
  return p.prediction.samples_per_s;
}
double gpus(const StudyPoint& p) {
  return static_cast<double>(p.scenario.cluster.gpus);
}
const Spending* spending(const StudyPoint& p) {
  return p.money ? p.money->cheaper() : nullptr;
}

// Of two points the spendings of one kind, so that nobody compares a rent with a purchase, or a
// purchase with power alone: the first one's cheaper kind where both have it, else the kind that
// both have.
std::pair<const Spending*, const Spending*> alike(const StudyPoint& a, const StudyPoint& b) {
  if (!a.money || !b.money) return {spending(a), nullptr};
  const auto of = [](const std::optional<Spending>& s) { return s ? &*s : nullptr; };
  const Spending* cheaper = spending(a);
  const bool rents = cheaper != nullptr && cheaper == of(a.money->rent);
  const auto kind = [&](const StudyPoint& p, bool rent) {
    return rent ? of(p.money->rent) : of(p.money->own);
  };
  const bool both_bought =
      a.scenario.cost.gpu_price.has_value() == b.scenario.cost.gpu_price.has_value();
  for (const bool rent : {rents, !rents}) {
    if (!rent && !both_bought) continue;
    if (kind(a, rent) != nullptr && kind(b, rent) != nullptr) return {kind(a, rent), kind(b, rent)};
  }
  return {cheaper, nullptr};
}

// A point with its step's time over the predicted one.
struct Drawn {
  const StudyPoint& point;
  double factor = 1;
  [[nodiscard]] double throughput() const { return stepsight::throughput(point) / factor; }
  [[nodiscard]] double run_s() const { return point.money->run_s->value * factor; }
};

// What an hour of training with b is worth more than one with a, before the power.
std::optional<double> worth_of_hour(const Drawn& a, const Drawn& b) {
  const Money& before = *a.point.money;
  const Money& after = *b.point.money;
  const std::optional<double>& day_worth = b.point.scenario.cost.day_worth;
  if (day_worth && before.run_s && after.run_s) {
    return *day_worth * ((a.run_s() - b.run_s()) / day) / (b.run_s() / 3600);
  }
  if (!before.rent) return std::nullopt;
  const auto work = [](const Drawn& p) { return p.throughput() * p.point.money->goodput.share; };
  return before.rent->per_hour * (work(b) / work(a) - 1);
}

std::optional<double> payback_hours(const Drawn& a, const Drawn& b) {
  const std::optional<Money>& before = a.point.money;
  const std::optional<Money>& after = b.point.money;
  const Prices& prices = b.point.scenario.cost;
  if (!before || !after || !prices.gpu_price) return std::nullopt;
  const std::optional<double> worth = worth_of_hour(a, b);
  if (!worth) return std::nullopt;
  const double power_kW = after->power_kW.value_or(0) - before->power_kW.value_or(0);
  const double earned = *worth - power_kW * prices.power_price_per_kWh.value_or(0);
  const double bought = after->purchase.total() - before->purchase.total();
  if (!(earned > 0) || !(bought > 0)) return std::nullopt;
  return bought * (1 - prices.resale_share.value_or(0)) / earned;
}

MarginalFigures figures(const Drawn& first, const Drawn& a, const Drawn& b) {
  MarginalFigures out;
  const Scenario& scenario = b.point.scenario;
  const double added_gpus = gpus(b.point) - gpus(a.point);
  const double added = b.throughput() - a.throughput();
  out.throughput_per_gpu = added / added_gpus;
  out.share_of_first = out.throughput_per_gpu / (first.throughput() / gpus(first.point));
  const Spending* before = spending(a.point);
  const Spending* after = spending(b.point);
  if (before != nullptr && after != nullptr && added > 0) {
    const double per_second = (after->per_hour - before->per_hour) / 3600;
    const double each = samples_of_step(scenario);
    const double work = takes_images(scenario.model.family) ? each : tokens_of_step(scenario);
    out.cost_per_added_million = per_second * 1e6 / (added * work / each);
  }
  if (a.point.money && b.point.money && a.point.money->run_s && b.point.money->run_s) {
    out.days_saved = (a.run_s() - b.run_s()) / day;
    if (before != nullptr && after != nullptr && before->per_run && after->per_run) {
      out.added_cost = after->per_run->value * b.factor - before->per_run->value * a.factor;
      if (*out.days_saved > 0) out.cost_per_day = *out.added_cost / *out.days_saved;
    }
  }
  out.payback_hours = payback_hours(a, b);
  const std::optional<double> worth = scenario.cost.day_worth;
  if (worth && out.added_cost && out.days_saved) {
    out.worth_it = *out.added_cost <= *worth * *out.days_saved;
  } else {
    out.worth_it = out.share_of_first >= least_share;
  }
  return out;
}

ExchangedFigures exchanged_figures(const Drawn& a, const Drawn& b) {
  ExchangedFigures out;
  out.throughput_ratio = b.throughput() / a.throughput();
  const auto [before, after] = alike(a.point, b.point);
  if (before == nullptr) return out;
  out.worth_per_hour = before->per_hour * out.throughput_ratio;
  if (after != nullptr) {
    out.cost_ratio = after->per_million.value * b.factor / (before->per_million.value * a.factor);
  }
  const Money& money = *a.point.money;
  const double lost = 1 - a.point.scenario.cost.resale_share.value_or(0);
  if (money.own && before == &*money.own && money.life_hours > 0 && lost > 0) {
    out.worth_more_to_buy = (*out.worth_per_hour - before->per_hour) * money.life_hours / lost;
  }
  return out;
}

// The interval of one figure over the draws. A cost or a payback that is nothing in a draw is never
// reached there: beyond every other.
template <typename Figures>
void set_range(double Figures::*figure,
               const std::vector<Figures>& drawn,
               const Figures& predicted,
               Figures& p5,
               Figures& p95) {
  std::vector<double> values;
  values.reserve(drawn.size());
  for (const Figures& f : drawn) values.push_back(f.*figure);
  const Ends ends = ends_of(values);
  p5.*figure = std::min(ends.p5, predicted.*figure);
  p95.*figure = std::max(ends.p95, predicted.*figure);
}

template <typename Figures>
void set_range(std::optional<double> Figures::*figure,
               const std::vector<Figures>& drawn,
               const Figures& predicted,
               Figures& p5,
               Figures& p95) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> values;
  values.reserve(drawn.size());
  for (const Figures& f : drawn) values.push_back((f.*figure).value_or(never));
  const Ends ends = ends_of(values);
  const double value = (predicted.*figure).value_or(never);
  if (const double low = std::min(ends.p5, value); std::isfinite(low)) p5.*figure = low;
  if (const double high = std::max(ends.p95, value); std::isfinite(high)) p95.*figure = high;
}

MarginalRange range_of(const MarginalFigures& predicted,
                       const std::vector<MarginalFigures>& drawn) {
  using F = MarginalFigures;
  MarginalRange out;
  for (const auto figure : {&F::throughput_per_gpu, &F::share_of_first}) {
    set_range(figure, drawn, predicted, out.p5, out.p95);
  }
  for (const auto figure : {&F::added_cost,
                            &F::days_saved,
                            &F::cost_per_day,
                            &F::cost_per_added_million,
                            &F::payback_hours}) {
    set_range(figure, drawn, predicted, out.p5, out.p95);
  }
  const auto worth =
      std::count_if(drawn.begin(), drawn.end(), [](const F& f) { return f.worth_it; });
  out.worth_it = static_cast<double>(worth) / static_cast<double>(drawn.size());
  return out;
}

Exchanged::Range range_of(const ExchangedFigures& predicted,
                          const std::vector<ExchangedFigures>& drawn) {
  using F = ExchangedFigures;
  Exchanged::Range out;
  set_range(&F::throughput_ratio, drawn, predicted, out.p5, out.p95);
  for (const auto figure : {&F::cost_ratio, &F::worth_per_hour, &F::worth_more_to_buy}) {
    set_range(figure, drawn, predicted, out.p5, out.p95);
  }
  return out;
}

// And what it is made of, without which two points have nothing to share.
bool has_interval(const StudyPoint& p) {
  const Uncertainty& u = p.uncertainty;
  return u.step.p5 > 0 && (u.log_sd > 0 || u.step.p5 == u.step.p95);
}

std::vector<double> factors(const StudyPoint& p, JointDraws& draws) {
  return draws.step_factors(p.scenario.cluster, p.uncertainty);
}

// All of a line's steps in every draw, and where the next card stops to be worth it in each.
void set_ranges(std::span<const StudyPoint> points, JointDraws& draws, MarginalLine& line) {
  const auto known = [&](std::size_t i) { return has_interval(points[i]); };
  if (!std::all_of(line.points.begin(), line.points.end(), known)) return;
  std::vector<std::vector<double>> factor;
  for (const std::size_t p : line.points) factor.push_back(factors(points[p], draws));
  std::vector<std::size_t> last(joint_draws, 0);  // number on the line
  for (std::size_t k = 0; k < line.steps.size(); ++k) {
    std::vector<MarginalFigures> drawn;
    drawn.reserve(joint_draws);
    const auto at = [&](std::size_t n, std::size_t draw) {
      return Drawn{points[line.points[n]], factor[n][draw]};
    };
    for (std::size_t d = 0; d < joint_draws; ++d) {
      drawn.push_back(figures(at(0, d), at(k, d), at(k + 1, d)));
      if (last[d] == k && drawn.back().worth_it) last[d] = k + 1;
    }
    line.steps[k].range = range_of(line.steps[k], drawn);
  }
  const auto same = std::count_if(
      last.begin(), last.end(), [&](std::size_t n) { return line.points[n] == line.last_worth; });
  std::sort(last.begin(), last.end());
  const auto at = [&](double share) {
    return line.points[last[static_cast<std::size_t>(share * (joint_draws - 1) + 0.5)]];
  };
  line.range = WorthRange{at(0.05), at(0.95), static_cast<double>(same) / joint_draws};
}

}  // namespace

std::vector<MarginalLine> marginal_lines(std::span<const StudyPoint> points,
                                         const SweepAxes& axes) {
  std::vector<MarginalLine> out;
  JointDraws draws;
  for (std::vector<std::size_t>& group : equal_but(axes, "gpus")) {
    std::erase_if(group, [&](std::size_t i) { return !points[i].prediction.memory.fits; });
    std::ranges::stable_sort(group, {}, [&](std::size_t i) { return gpus(points[i]); });
    const auto same = [&](std::size_t a, std::size_t b) {
      return gpus(points[a]) == gpus(points[b]);
    };
    group.erase(std::unique(group.begin(), group.end(), same), group.end());
    if (group.size() < 2) continue;
    MarginalLine line;
    line.points = group;
    line.last_worth = group.front();
    bool still = true;
    for (std::size_t i = 1; i < group.size(); ++i) {
      const StudyPoint& a = points[group[i - 1]];
      const StudyPoint& b = points[group[i]];
      const MarginalFigures predicted = figures({points[group.front()]}, {a}, {b});
      line.steps.push_back({predicted, group[i - 1], group[i], gpus(b) - gpus(a), {}});
      still = still && line.steps.back().worth_it;
      if (still) line.last_worth = group[i];
    }
    set_ranges(points, draws, line);
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<Exchanged> exchanged(std::span<const StudyPoint> points,
                                 const SweepAxes& axes,
                                 std::string_view key) {
  std::vector<Exchanged> out;
  if (std::ranges::find(axes.axes, key) == axes.axes.end()) return out;
  JointDraws draws;
  for (const std::vector<std::size_t>& group : equal_but(axes, key)) {
    for (std::size_t i = 1; i < group.size(); ++i) {
      const StudyPoint& a = points[group.front()];
      const StudyPoint& b = points[group[i]];
      Exchanged e{exchanged_figures({a}, {b}), group.front(), group[i], {}};
      if (has_interval(a) && has_interval(b)) {
        const std::vector<double> of_a = factors(a, draws);
        const std::vector<double> of_b = factors(b, draws);
        std::vector<ExchangedFigures> drawn;
        drawn.reserve(joint_draws);
        for (std::size_t d = 0; d < joint_draws; ++d) {
          drawn.push_back(exchanged_figures({a, of_a[d]}, {b, of_b[d]}));
        }
        e.range = range_of(e, drawn);
      }
      out.push_back(e);
    }
  }
  return out;
}

}  // namespace stepsight
