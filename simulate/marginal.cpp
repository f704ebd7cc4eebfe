#include "simulate/marginal.h"

#include <algorithm>
#include <utility>
#include <map>

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

// Of two points the spendings of one kind, so that nobody compares a rent with a purchase: the first
// one's cheaper kind where both have it, else the kind that both have.
std::pair<const Spending*, const Spending*> alike(const StudyPoint& a, const StudyPoint& b) {
  if (!a.money || !b.money) return {spending(a), nullptr};
  const auto of = [](const std::optional<Spending>& s) { return s ? &*s : nullptr; };
  const Spending* cheaper = spending(a);
  const bool rents = cheaper != nullptr && cheaper == of(a.money->rent);
  const auto kind = [&](const StudyPoint& p, bool rent) {
    return rent ? of(p.money->rent) : of(p.money->own);
  };
  for (const bool rent : {rents, !rents}) {
    if (kind(a, rent) != nullptr && kind(b, rent) != nullptr) return {kind(a, rent), kind(b, rent)};
  }
  return {cheaper, nullptr};
}

// What an hour of training with b is worth more than one with a, before the power.
std::optional<double> worth_of_hour(const StudyPoint& a, const StudyPoint& b) {
  const Money& before = *a.money;
  const Money& after = *b.money;
  if (b.scenario.cost.day_worth && before.run_s && after.run_s) {
    const double days = (before.run_s->value - after.run_s->value) / day;
    return *b.scenario.cost.day_worth * days / (after.run_s->value / 3600);
  }
  if (!before.rent) return std::nullopt;
  const auto work = [](const StudyPoint& p) { return throughput(p) * p.money->goodput.share; };
  return before.rent->per_hour * (work(b) / work(a) - 1);
}

std::optional<double> payback_hours(const StudyPoint& a, const StudyPoint& b) {
  if (!a.money || !b.money || !b.scenario.cost.gpu_price) return std::nullopt;
  const std::optional<double> worth = worth_of_hour(a, b);
  if (!worth) return std::nullopt;
  const Prices& prices = b.scenario.cost;
  const double power_kW = b.money->power_kW.value_or(0) - a.money->power_kW.value_or(0);
  const double earned = *worth - power_kW * prices.power_price_per_kWh.value_or(0);
  const double bought = b.money->purchase.total() - a.money->purchase.total();
  if (!(earned > 0) || !(bought > 0)) return std::nullopt;
  return bought * (1 - prices.resale_share.value_or(0)) / earned;
}

MarginalStep step_between(std::span<const StudyPoint> points,
                          std::size_t first,
                          std::size_t from,
                          std::size_t to) {
  const StudyPoint& a = points[from];
  const StudyPoint& b = points[to];
  MarginalStep out;
  out.from = from;
  out.to = to;
  out.added_gpus = gpus(b) - gpus(a);
  const double added = throughput(b) - throughput(a);
  out.throughput_per_gpu = added / out.added_gpus;
  out.share_of_first = out.throughput_per_gpu / (throughput(points[first]) / gpus(points[first]));
  const Spending* before = spending(a);
  const Spending* after = spending(b);
  if (before != nullptr && after != nullptr && added > 0) {
    const double per_second = (after->per_hour - before->per_hour) / 3600;
    const double each = samples_of_step(b.scenario);
    const double work = takes_images(b.scenario.model.family) ? each : tokens_of_step(b.scenario);
    out.cost_per_added_million = per_second * 1e6 / (added * work / each);
  }
  if (a.money && b.money && a.money->run_s && b.money->run_s) {
    out.days_saved = (a.money->run_s->value - b.money->run_s->value) / day;
    if (before != nullptr && after != nullptr && before->per_run && after->per_run) {
      out.added_cost = after->per_run->value - before->per_run->value;
      if (*out.days_saved > 0) out.cost_per_day = *out.added_cost / *out.days_saved;
    }
  }
  out.payback_hours = payback_hours(a, b);
  const std::optional<double> worth = b.scenario.cost.day_worth;
  if (worth && out.added_cost && out.days_saved) {
    out.worth_it = *out.added_cost <= *worth * *out.days_saved;
  } else {
    out.worth_it = out.share_of_first >= least_share;
  }
  return out;
}

}  // namespace

std::vector<MarginalLine> marginal_lines(std::span<const StudyPoint> points,
                                         const SweepAxes& axes) {
  std::vector<MarginalLine> out;
  for (std::vector<std::size_t>& group : equal_but(axes, "gpus")) {
    std::erase_if(group, [&](std::size_t i) { return !points[i].prediction.memory.fits; });
    std::ranges::stable_sort(group, {}, [&](std::size_t i) { return gpus(points[i]); });
    const auto same = [&](std::size_t a, std::size_t b) { return gpus(points[a]) == gpus(points[b]); };
    group.erase(std::unique(group.begin(), group.end(), same), group.end());
    if (group.size() < 2) continue;
    MarginalLine line;
    line.points = group;
    line.last_worth = group.front();
    bool still = true;
    for (std::size_t i = 1; i < group.size(); ++i) {
      line.steps.push_back(step_between(points, group.front(), group[i - 1], group[i]));
      still = still && line.steps.back().worth_it;
      if (still) line.last_worth = group[i];
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<Exchanged> exchanged(std::span<const StudyPoint> points,
                                 const SweepAxes& axes,
                                 std::string_view key) {
  std::vector<Exchanged> out;
  if (std::ranges::find(axes.axes, key) == axes.axes.end()) return out;
  for (const std::vector<std::size_t>& group : equal_but(axes, key)) {
    for (std::size_t i = 1; i < group.size(); ++i) {
      const StudyPoint& a = points[group.front()];
      const StudyPoint& b = points[group[i]];
      Exchanged e{group.front(), group[i], throughput(b) / throughput(a), {}, {}, {}};
      const auto [before, after] = alike(a, b);
      if (before != nullptr) {
        e.worth_per_hour = before->per_hour * e.throughput_ratio;
        if (after != nullptr) e.cost_ratio = after->per_million.value / before->per_million.value;
        if (before == (a.money->own ? &*a.money->own : nullptr) && a.money->life_hours > 0) {
          const double lost = 1 - a.scenario.cost.resale_share.value_or(0);
          if (lost > 0) {
            e.worth_more_to_buy =
                (*e.worth_per_hour - before->per_hour) * a.money->life_hours / lost;
          }
        }
      }
      out.push_back(e);
    }
  }
  return out;
}

}  // namespace stepsight
