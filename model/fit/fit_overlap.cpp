#include "model/fit/fit_overlap.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "model/fit/fit_group.h"
#include "model/rounds.h"

namespace stepsight {

namespace {

using Points = std::vector<OverlapPoint>;
using W = OverlapWork;

struct ParameterRow {
  std::string_view name;
  std::array<W, 2> victims;
  std::array<W, 2> aggressors;
};

constexpr std::array<ParameterRow, 6> rows{{
    {"compute_under_collective", {W::gemm, W::gemm}, {W::collective, W::collective}},
    {"collective_under_compute", {W::collective, W::collective}, {W::gemm, W::gemm}},
    {"memory_under_collective", {W::memory, W::memory}, {W::collective, W::collective}},
    {"collective_under_memory", {W::collective, W::collective}, {W::memory, W::memory}},
    {"compute_under_copy", {W::gemm, W::memory}, {W::copy, W::copy}},
    {"copy_under_compute", {W::copy, W::copy}, {W::gemm, W::memory}},
}};

bool has(const std::array<W, 2>& list, W work) {
  return list[0] == work || list[1] == work;
}

// Those that `wanted` keeps; all where that would be none.
template <typename Wanted>
Points prefer(const Points& all, Wanted wanted) {
  Points kept;
  std::ranges::copy_if(all, std::back_inserter(kept), wanted);
  return kept.empty() ? all : kept;
}

// One over the slope of beside = wait + alone / rate, by least squares on relative errors.
double marginal_rate(const Points& sizes) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const OverlapPoint& p : sizes) {
    const double weight = 1 / (p.beside_us * p.beside_us);
    w += weight;
    x += weight * p.alone_us;
    y += weight * p.beside_us;
    xx += weight * p.alone_us * p.alone_us;
    xy += weight * p.alone_us * p.beside_us;
  }
  const double spread = w * xx - x * x;
  const double slope = spread > 1e-12 * w * xx ? (w * xy - x * y) / spread : 0;
  // Slower than alone in all, and no message overtakes its own rate alone: a wait below zero is
  // noise.
  const double wait = (y - slope * x) / w;
  if (slope <= 0) return 0;
  return wait < 0 ? xx / xy : 1 / slope;
}

// The sizes of one collective and one kind of compute, of one file.
using Ladders = std::map<std::tuple<std::uint32_t, std::string, std::string>, Points>;

Ladders ladders_of(const Points& points) {
  Ladders ladders;
  for (const OverlapPoint& p : points) {
    ladders[{p.source, p.victim_name, p.aggressor_name}].push_back(p);
  }
  return ladders;
}

Points largest_messages(const Points& points) {
  Points out;
  for (const auto& [name, sizes] : ladders_of(points)) {
    const double most = std::ranges::max_element(sizes, {}, &OverlapPoint::bytes)->bytes;
    std::ranges::copy_if(
        sizes, std::back_inserter(out), [&](const OverlapPoint& p) { return p.bytes == most; });
  }
  return out;
}

std::vector<double> rates_of_collectives(const Points& points) {
  std::vector<double> rates;
  for (const auto& [name, sizes] : ladders_of(points)) {
    const auto timed = [](const OverlapPoint& p) { return p.alone_us > 0 && p.beside_us > 0; };
    const bool along_sizes = sizes.size() > 1 && std::ranges::all_of(sizes, timed);
    const double rate = along_sizes ? marginal_rate(sizes) : 0;
    if (rate > 0) {
      rates.push_back(rate);
    } else {
      for (const OverlapPoint& p : sizes) rates.push_back(p.rate);
    }
  }
  return rates;
}

// Products of fewer rounds than a collective delays them by say nothing of by how much it does.
constexpr double all_late = 2.5;

// "gemm_8192_5120_1280" (m, n, k) or "gemm_8192" (all three): its rounds; 0 for another name.
double rounds_of_name(std::string_view name, int multiprocessors) {
  constexpr std::string_view begin = "gemm_";
  if (!name.starts_with(begin) || multiprocessors <= 0) return 0;
  name.remove_prefix(begin.size());
  std::array<std::int64_t, 3> sizes{};
  std::size_t count = 0;
  while (!name.empty() && count < sizes.size()) {
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), sizes[count]);
    if (error != std::errc{} || sizes[count] < 1) return 0;
    ++count;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    if (!name.empty() && name.front() != '_') return 0;
    if (!name.empty()) name.remove_prefix(1);
  }
  if (!name.empty() || (count != 1 && count != 3)) return 0;
  if (count == 1) sizes[1] = sizes[2] = sizes[0];
  return std::ceil(rounds_of(Gemm{sizes[0], sizes[1], sizes[2]}, multiprocessors));
}

// A product's rate beside a collective, as one of usual_rounds would have it (model/rounds.h).
double rate_of_usual(const OverlapPoint& p, int multiprocessors) {
  const bool product = p.victim == W::gemm && p.aggressor == W::collective;
  const double rounds = product ? rounds_of_name(p.victim_name, multiprocessors) : 0;
  if (rounds <= 0) return p.rate;
  const double late = rounds * std::max(0.0, 1 / p.rate - 1);
  return usual_rounds / (usual_rounds + late);
}

}  // namespace

std::optional<OverlapRate> fit_overlap_rate(const std::vector<OverlapPoint>& points,
                                            std::string_view parameter,
                                            int multiprocessors) {
  const auto* const row = std::ranges::find(rows, parameter, &ParameterRow::name);
  if (row == rows.end()) throw std::logic_error("no such overlap parameter");
  Points chosen;
  for (const OverlapPoint& p : points) {
    if (has(row->victims, p.victim) && has(row->aggressors, p.aggressor)) chosen.push_back(p);
  }
  if (chosen.empty()) return std::nullopt;
  const bool collective = row->victims[0] == W::collective || row->aggressors[0] == W::collective;
  if (collective) chosen = prefer(chosen, [](const OverlapPoint& p) { return p.channels == 0; });
  std::vector<double> rates;
  if (row->victims[0] == W::collective) {
    rates = rates_of_collectives(chosen);
  } else {
    if (collective) {
      chosen = largest_messages(chosen);
    }
    if (row->victims[0] == W::gemm && collective) {
      chosen = prefer(chosen, [&](const OverlapPoint& p) {
        const double rounds = rounds_of_name(p.victim_name, multiprocessors);
        return rounds <= 0 || rounds > all_late;
      });
    }
    for (const OverlapPoint& p : chosen) rates.push_back(rate_of_usual(p, multiprocessors));
  }
  OverlapRate out;
  out.value = median(rates);
  out.sd = (percentile(rates, 0.84) - percentile(rates, 0.16)) / 2;
  out.points = std::move(chosen);
  return out;
}

}  // namespace stepsight
