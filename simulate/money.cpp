#include "simulate/money.h"

#include <cmath>

#include "model/link_curve.h"
#include "model/parallel_layout.h"

namespace stepsight {

namespace {

constexpr double hour = 3600;
constexpr double hours_of_year = 8766;  // 365.25 days

double or_zero(const std::optional<double>& figure) {
  return figure.value_or(0);
}

const LinkClass* class_of(const Cluster& cluster) {
  return cluster.facts && cluster.facts->link_class ? &*cluster.facts->link_class : nullptr;
}

// At the meter.
std::optional<double> power_kW(const Scenario& s, const GpuProfile& gpu) {
  const double card = s.cost.gpu_power_W.value_or(gpu.power_W);
  if (card <= 0) return std::nullopt;
  const double watts = static_cast<double>(s.cluster.gpus) * card +
                       static_cast<double>(s.cluster.nodes) * or_zero(s.cost.node_power_W);
  return watts * 1e-3 * s.cost.pue.value_or(1);
}

Figure scaled(const StepRange& step, double factor) {
  return {step.step * factor, step.low * factor, step.high * factor};
}

Spending spending(double per_hour, const Scenario& s, const StepRange& step, const Money& money) {
  Spending out;
  out.per_hour = per_hour;
  const double per_second = per_hour / hour / money.goodput.share;
  out.per_step = scaled(step, per_second);
  const double work = takes_images(s.model.family) ? samples_of_step(s) : tokens_of_step(s);
  out.per_million = scaled(step, per_second * 1e6 / work);
  if (money.steps) out.per_run = scaled(step, per_second * *money.steps);
  return out;
}

std::optional<double> steps_of_run(const Scenario& s) {
  if (s.run.steps > 0) return static_cast<double>(s.run.steps);
  if (s.run.tokens > 0) return std::ceil(s.run.tokens / tokens_of_step(s));
  return std::nullopt;
}

}  // namespace

const Spending* Money::cheaper() const {
  if (!rent) return own ? &*own : nullptr;
  if (!own) return &*rent;
  return own->per_hour < rent->per_hour ? &*own : &*rent;
}

double samples_of_step(const Scenario& s) {
  return static_cast<double>(data_parallel(s)) * static_cast<double>(s.training.batch) *
         static_cast<double>(s.training.accumulation);
}

double tokens_of_step(const Scenario& s) {
  return samples_of_step(s) * static_cast<double>(s.training.seq);
}

Purchase purchase_of(const Scenario& s) {
  const Prices& p = s.cost;
  const auto gpus = static_cast<double>(s.cluster.gpus);
  const auto nodes = static_cast<double>(s.cluster.nodes);
  Purchase out;
  out.cards = gpus * or_zero(p.gpu_price);
  out.machines = nodes * or_zero(p.node_price);
  const LinkClass* link = class_of(s.cluster);
  if (link != nullptr && s.cluster.gpus > 1) {
    if (link->nvlink_shape == NvlinkShape::pairs) {
      out.bridges = nodes * std::floor(gpus / nodes / 2) * or_zero(p.bridge_price);
    }
    if (s.cluster.nodes > 1) {
      const double rate_Gbps = link->fabric.nic_GBps * 8;
      out.network = nodes * link->fabric.nics *
                    (or_zero(p.nic_price) + rate_Gbps * (or_zero(p.nic_price_per_Gbps) +
                                                         or_zero(p.switch_price_per_Gbps)));
    }
  }
  out.facility = or_zero(p.facility_share) * out.total();
  return out;
}

std::optional<Money> money_of(const Scenario& s, const GpuProfile& gpu, const StepRange& step) {
  if (!s.cost.any() && s.run.tokens <= 0 && s.run.steps <= 0) return std::nullopt;
  Money out;
  out.goodput = goodput(s.run, s.cluster.gpus);
  if (out.goodput.share <= 0) return std::nullopt;  // it fails faster than it restarts
  out.steps = steps_of_run(s);
  if (out.steps) out.run_s = scaled(step, *out.steps / out.goodput.share);
  out.power_kW = power_kW(s, gpu);

  const auto gpus = static_cast<double>(s.cluster.gpus);
  const double power_per_hour = or_zero(out.power_kW) * or_zero(s.cost.power_price_per_kWh);
  if (s.cost.rent_per_gpu_hour) {
    out.rent = spending(gpus * *s.cost.rent_per_gpu_hour, s, step, out);
  }
  if (s.cost.gpu_price) {
    out.purchase = purchase_of(s);
    out.life_hours = s.cost.years.value_or(3) * hours_of_year * s.cost.utilisation.value_or(1);
    const double lost = out.purchase.total() * (1 - or_zero(s.cost.resale_share));
    out.own = spending(lost / out.life_hours + power_per_hour, s, step, out);
    const double saved = (out.rent ? out.rent->per_hour : 0) - power_per_hour;
    if (out.rent && saved > 0) out.break_even_hours = lost / saved;
  } else if (!out.rent && !s.cost.list.empty()) {
    out.price_missing = true;  // power alone beside other cards' prices would look like a bargain
  } else if (!out.rent && power_per_hour > 0) {
    out.own = spending(power_per_hour, s, step, out);  // the cards are there: their power alone
  }
  return out;
}

}  // namespace stepsight
