#include "model/fit/solve.h"

#include <cmath>

#include <ceres/ceres.h>

#include "model/power.h"

namespace stepsight {

namespace {

// A parameter struct from the solver's array, in the order of the descriptor table.
template <template <typename> typename Parameters, typename T>
Parameters<T> unpack(const T* values) {
  Parameters<T> out{};
  std::size_t i = 0;
  for (const auto& field : Parameters<T>::fields()) out.*field.member = values[i++];
  return out;
}

// log(formula(parameters) / measured).
template <template <typename> typename Parameters, typename Formula>
struct LogResidual {
  Formula formula;
  double log_measured;

  template <typename T>
  bool operator()(const T* const values, T* residual) const {
    using std::log;
    residual[0] = log(formula(unpack<Parameters, T>(values))) - log_measured;
    return true;
  }
};

// What is known of one parameter beside the points: weight * log(parameter / expected).
struct Prior {
  std::size_t parameter = 0;
  double expected = 0;
  double weight = 0;
};

struct PriorResidual {
  Prior prior;

  template <typename T>
  bool operator()(const T* const values, T* residual) const {
    using std::log;
    residual[0] = prior.weight * log(values[prior.parameter] / prior.expected);
    return true;
  }
};

void set_bounds(ceres::Problem& problem,
                std::vector<double>& values,
                std::size_t i,
                const ParameterInfo& info) {
  problem.SetParameterLowerBound(values.data(), static_cast<int>(i), info.lower);
  problem.SetParameterUpperBound(values.data(), static_cast<int>(i), info.upper);
}

// Which parameters change any residual at all. The singular value decomposition behind a covariance
// mixes those that change none with each other, and leaves them tiny deviations for zero ones.
std::vector<bool> felt(ceres::Problem& problem, std::size_t count) {
  ceres::CRSMatrix jacobian;
  problem.Evaluate({}, nullptr, nullptr, nullptr, &jacobian);
  std::vector<bool> out(count, false);
  for (std::size_t i = 0; i < jacobian.values.size(); ++i) {
    if (jacobian.values[i] != 0) out[static_cast<std::size_t>(jacobian.cols[i])] = true;
  }
  return out;
}

// Standard deviations: the diagonal of the residuals' covariance, scaled by their spread. One that
// is wider than the parameter's bounds says that the points know less of it than the bounds do.
template <template <typename> typename Parameters>
void deviations(ceres::Problem& problem, Solution& out, double variance) {
  const auto count = static_cast<std::size_t>(out.values.size());
  const std::vector<bool> any = felt(problem, count);
  out.deviations.assign(count, 0);
  out.determined.assign(count, false);
  ceres::Covariance::Options options;
  options.algorithm_type = ceres::DENSE_SVD;
  options.null_space_rank = -1;  // directions that the points do not determine are dropped
  options.min_reciprocal_condition_number = 1e-12;
  ceres::Covariance covariance(options);
  const double* block = out.values.data();
  const std::vector<std::pair<const double*, const double*>> blocks{{block, block}};
  if (!covariance.Compute(blocks, &problem)) return;
  std::vector<double> matrix(count * count);
  if (!covariance.GetCovarianceBlock(block, block, matrix.data())) return;
  std::size_t i = 0;
  for (const auto& field : Parameters<double>::fields()) {
    const double d = std::sqrt(std::max(0.0, matrix[i * count + i] * variance));
    const double widest = field.info.upper - field.info.lower;
    out.determined[i] = any[i] && std::isfinite(d) && d > 0 && d < widest;
    out.deviations[i] = out.determined[i] ? d : 0;
    ++i;
  }
}

template <typename Point>
double measured(const Point& point) {
  return point.time_us;
}
double measured(const PowerPoint& point) {
  return point.power_W;
}

// `formula_of(point)` gives a callable from Parameters<T> to what was measured, in its unit.
template <template <typename> typename Parameters, typename Point, typename FormulaOf>
Solution solve(std::span<const Point> points,
               const Parameters<double>& start,
               FormulaOf formula_of,
               const std::optional<Prior>& prior = {}) {
  constexpr int count = static_cast<int>(Parameters<double>::fields().size());
  Solution out;
  for (const auto& field : Parameters<double>::fields()) {
    out.values.push_back(std::clamp(start.*field.member, field.info.lower, field.info.upper));
  }
  ceres::Problem problem;
  for (const Point& point : points) {
    auto formula = formula_of(point);
    using Residual = LogResidual<Parameters, decltype(formula)>;
    problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Residual, 1, count>(
                                 new Residual{formula, std::log(measured(point))}),
                             new ceres::HuberLoss(0.15),
                             out.values.data());
  }
  if (prior) {
    problem.AddResidualBlock(
        new ceres::AutoDiffCostFunction<PriorResidual, 1, count>(new PriorResidual{*prior}),
        nullptr,
        out.values.data());
  }
  std::size_t i = 0;
  for (const auto& field : Parameters<double>::fields()) {
    set_bounds(problem, out.values, i++, field.info);
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = 200;
  options.num_threads = 1;  // one order of summation: the same points give the same bytes
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  out.converged = summary.IsSolutionUsable();
  out.message = summary.message;

  std::vector<double> residuals;
  ceres::Problem::EvaluateOptions plain;
  plain.apply_loss_function = false;
  problem.Evaluate(plain, nullptr, &residuals, nullptr, nullptr);
  double squares = 0;
  for (const double r : residuals) squares += r * r;
  const double freedom = std::max(1.0, static_cast<double>(residuals.size()) - count);
  out.residual_spread = std::sqrt(squares / freedom);
  deviations<Parameters>(problem, out, squares / freedom);
  return out;
}

}  // namespace

Solution solve_gemms(std::span<const GemmPoint> points,
                     const GemmParameters<double>& start,
                     Multiprocessors sms,
                     std::optional<double> class_bandwidth) {
  constexpr auto fields = GemmParameters<double>::fields();
  std::optional<Prior> prior;
  for (std::size_t i = 0; class_bandwidth && i < fields.size(); ++i) {
    if (fields[i].member != &GemmParameters<double>::bandwidth_TBps) continue;
    prior = Prior{i, *class_bandwidth, 0.3 * std::sqrt(static_cast<double>(points.size()))};
  }
  const auto formula_of = [sms](const GemmPoint& point) {
    return
        [gemm = point.gemm, sms](const auto& p) { return gemm_formula(gemm, p, sms).value * 1e6; };
  };
  return solve<GemmParameters>(points, start, formula_of, prior);
}

Solution solve_attention(std::span<const AttentionPoint> points,
                         const AttentionParameters<double>& start,
                         int multiprocessors) {
  return solve<AttentionParameters>(points, start, [multiprocessors](const AttentionPoint& point) {
    return [attention = point.attention, multiprocessors](const auto& p) {
      return attention_formula(attention, p, multiprocessors).value * 1e6;
    };
  });
}

Solution solve_passes(std::span<const PassPoint> points, const PassParameters<double>& start) {
  return solve<PassParameters>(points, start, [](const PassPoint& point) {
    return [pass = point.pass](const auto& p) { return pass_formula(pass, p).value * 1e6; };
  });
}

Solution solve_convolutions(std::span<const ConvolutionPoint> points,
                            const ConvolutionParameters<double>& start,
                            const GemmParameters<double>& product,
                            Multiprocessors sms) {
  return solve<ConvolutionParameters>(points, start, [&](const ConvolutionPoint& point) {
    return [c = point.convolution, time = convolution_product(point.convolution, product, sms)](
               const auto& p) { return convolution_formula(c, time, p).value * 1e6; };
  });
}

Solution solve_copies(std::span<const CopyPoint> points, const CopyParameters<double>& start) {
  return solve<CopyParameters>(points, start, [](const CopyPoint& point) {
    return [bytes = point.bytes](const auto& p) { return copy_formula(bytes, p).value * 1e6; };
  });
}

Solution solve_power(std::span<const PowerPoint> points, const PowerParameters<double>& start) {
  return solve<PowerParameters>(points, start, [](const PowerPoint& point) {
    return [point](const auto& p) {
      return power_formula(point.flop_per_s, point.bytes_per_s, point.clock, p);
    };
  });
}

Solution solve_collective(std::span<const CollectivePoint> points,
                          const CollectiveParameters<double>& start) {
  return solve<CollectiveParameters>(points, start, [](const CollectivePoint& point) {
    return [point](const auto& p) {
      return collective_formula(point.kind, point.ranks, point.bytes, p).value * 1e6;
    };
  });
}

Solution solve_host(std::span<const HostCounts> points, const HostParameters<double>& start) {
  return solve<HostParameters>(points, start, [](const HostCounts& point) {
    return [count = point.count](const auto& p) {
      using T = std::decay_t<decltype(p.forward_us)>;
      T sum(1e-6);  // keeps the logarithm away from zero
      std::size_t i = 0;
      for (const auto& field : HostParameters<T>::fields()) sum += p.*field.member * count[i++];
      return sum;
    };
  });
}

}  // namespace stepsight
