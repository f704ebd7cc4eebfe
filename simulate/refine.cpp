#include "simulate/refine.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "simulate/input_spread.h"

namespace stepsight {

namespace {

using Matrix = std::array<std::array<double, step_input_count>, step_input_count>;

constexpr double least_noise = 0.02;
constexpr double first_noise = 0.1;

struct Row {
  InputChanges effect{};  // of log(step) for a change of one in each input's logarithm
  double missing = 0;     // log(measured / predicted)
};

struct Posterior {
  InputChanges change{};
  InputChanges sd{};
};

// Lower triangle L of A = L L^T. Precondition: A is symmetric and positive definite.
Matrix cholesky(const Matrix& a) {
  Matrix l{};
  for (std::size_t i = 0; i < step_input_count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
    }
  }
  return l;
}

InputChanges solve(const Matrix& l, InputChanges b) {
  for (std::size_t i = 0; i < step_input_count; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= l[i][k] * b[k];
    b[i] /= l[i][i];
  }
  for (std::size_t i = step_input_count; i-- > 0;) {
    for (std::size_t k = i + 1; k < step_input_count; ++k) b[i] -= l[k][i] * b[k];
    b[i] /= l[i][i];
  }
  return b;
}

// In units of each prior's standard deviation z: (E^T E / noise^2 + 1) z = E^T missing / noise^2.
Posterior posterior(const std::vector<Row>& rows,
                    const InputChanges& prior,
                    double noise,
                    std::size_t left_out) {
  Matrix a{};
  InputChanges b{};
  for (std::size_t i = 0; i < step_input_count; ++i) a[i][i] = 1;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (r == left_out) continue;
    for (std::size_t i = 0; i < step_input_count; ++i) {
      const double e = rows[r].effect[i] * prior[i] / (noise * noise);
      b[i] += e * rows[r].missing;
      for (std::size_t j = 0; j < step_input_count; ++j)
        a[i][j] += e * rows[r].effect[j] * prior[j];
    }
  }
  const Matrix l = cholesky(a);
  Posterior out;
  const InputChanges z = solve(l, b);
  for (std::size_t i = 0; i < step_input_count; ++i) {
    InputChanges unit{};
    unit[i] = 1;
    out.change[i] = z[i] * prior[i];
    out.sd[i] = std::sqrt(solve(l, unit)[i]) * prior[i];
  }
  return out;
}

constexpr std::size_t nobody = static_cast<std::size_t>(-1);

// What the rows leave over once their own posterior is taken.
double left_over(const std::vector<Row>& rows, const Posterior& p) {
  double sum = 0;
  for (const Row& row : rows) {
    double rest = row.missing;
    for (std::size_t i = 0; i < step_input_count; ++i) rest -= row.effect[i] * p.change[i];
    sum += rest * rest;
  }
  return std::max(least_noise, std::sqrt(sum / static_cast<double>(rows.size())));
}

double mean_error(const std::vector<RefinedStep>& steps, double RefinedStep::*predicted) {
  double sum = 0;
  for (const RefinedStep& s : steps) sum += std::abs(s.*predicted / s.measured - 1);
  return sum / static_cast<double>(steps.size());
}

class Steps {
 public:
  Steps(const std::vector<MeasuredStep>& steps, const GpuProfile& gpu) {
    for (const MeasuredStep& s : steps) {
      auto step = std::make_unique<PerturbedStep>(s.scenario, gpu);
      const double predicted = step->step().step.value;
      const InputSpreads spreads = input_spreads(gpu, s.scenario, step->links());
      Row row;
      row.missing = std::log(s.seconds / predicted);
      for (std::size_t i = 0; i < step_input_count; ++i) {
        if (!step->uses(static_cast<StepInput>(i)) || !(spreads[i].log_sd > 0)) continue;
        prior_[i] = std::max(prior_[i], spreads[i].log_sd);
        InputChanges slower{};
        slower[i] = spreads[i].log_sd;
        row.effect[i] = std::log(step->step(slower).step.value / predicted) / spreads[i].log_sd;
      }
      rows_.push_back(row);
      predicted_.push_back(predicted);
      steps_.push_back(std::move(step));
    }
  }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const InputChanges& prior() const { return prior_; }
  [[nodiscard]] double before(std::size_t row) const { return predicted_[row]; }
  [[nodiscard]] double with(std::size_t row, const InputChanges& changes) {
    return steps_[row]->step(changes).step.value;
  }

 private:
  std::vector<std::unique_ptr<PerturbedStep>> steps_;
  std::vector<Row> rows_;
  std::vector<double> predicted_;
  InputChanges prior_{};
};

}  // namespace

InputChanges Refinement::changes() const {
  InputChanges out{};
  for (const RefinedInput& r : inputs) out[index(r.input)] = r.change;
  return out;
}

Refinement refine(const std::vector<MeasuredStep>& measured, const GpuProfile& gpu) {
  Steps steps(measured, gpu);
  const auto& rows = steps.rows();
  Refinement out;
  out.noise = first_noise;
  Posterior all;
  // The noise and what the steps say depend on each other; a few rounds settle both.
  for (int round = 0; round < 8; ++round) {
    all = posterior(rows, steps.prior(), out.noise, nobody);
    out.noise = left_over(rows, all);
  }
  for (std::size_t i = 0; i < step_input_count; ++i) {
    if (steps.prior()[i] <= 0) continue;
    out.inputs.push_back({static_cast<StepInput>(i), all.change[i], steps.prior()[i], all.sd[i]});
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Posterior others = posterior(rows, steps.prior(), out.noise, r);
    out.steps.push_back({measured[r].id,
                         measured[r].seconds,
                         steps.before(r),
                         steps.with(r, all.change),
                         steps.with(r, others.change)});
  }
  out.error_before = mean_error(out.steps, &RefinedStep::before);
  out.error_left_out = mean_error(out.steps, &RefinedStep::left_out);
  return out;
}

}  // namespace stepsight
