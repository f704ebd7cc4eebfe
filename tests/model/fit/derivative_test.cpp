// The formulas differentiate: what Ceres' Jet says is what finite differences say, for every
// parameter of every formula. Where a maximum or a wave steps, both sides are asked and one must
// agree.
#include <cmath>
#include <string>
#include <vector>

#include <ceres/jet.h>

#include "model/collective.h"
#include "model/cost.h"
#include "model/power.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

// d formula / d parameter i by Jet, and by a central difference a thousandth of the value wide.
template <template <typename> typename Parameters, typename Formula>
void check_derivatives(const Parameters<double>& at, Formula formula) {
  constexpr auto fields = Parameters<double>::fields();
  constexpr int count = static_cast<int>(fields.size());
  using Jet = ceres::Jet<double, count>;
  Parameters<Jet> jets{};
  {
    int i = 0;
    for (const auto& field : Parameters<Jet>::fields()) {
      jets.*field.member = Jet(at.*fields[static_cast<std::size_t>(i)].member, i);
      ++i;
    }
  }
  const Jet value = formula(jets);
  CHECK(value.a == Approx(formula(at)));
  for (int i = 0; i < count; ++i) {
    const auto& field = fields[static_cast<std::size_t>(i)];
    INFO(field.info.name);
    const double width = 1e-4 * std::max(std::abs(at.*field.member), 1e-3);
    Parameters<double> low = at;
    Parameters<double> high = at;
    low.*field.member -= width;
    high.*field.member += width;
    const double difference = (formula(high) - formula(low)) / (2 * width);
    CHECK(value.v[i] == Approx(difference).epsilon(1e-4).margin(1e-9 * formula(at) / width));
  }
}

}  // namespace

TEST_CASE("the product's formula differentiates as finite differences do") {
  GemmParameters<double> p{700, 120, 0.4, 35, 1500, 2.5, 3.5, 2.7, 2.9, 5.5, 1.1, 1.6};
  for (const Gemm& gemm : {Gemm{4096, 4096, 4096},
                           Gemm{8192, 50257, 768},
                           Gemm{128, 768, 4096},
                           Gemm{4096, 100, 1000},
                           Gemm{32, 32, 32},
                           Gemm{100, 2050, 514},
                           Gemm{2048, 4096, 4096, 1, Dtype::bf16, Layout::NN},
                           Gemm{2048, 4096, 4096, 1, Dtype::bf16, Layout::NT}}) {
    INFO(gemm.m << " x " << gemm.n << " x " << gemm.k);
    check_derivatives(p, [&](const auto& q) { return gemm_formula(gemm, q, {132}).value; });
  }
}

TEST_CASE("the attention formula differentiates as finite differences do") {
  for (const bool causal : {true, false}) {
    for (const bool dropout : {true, false}) {
      Attention a{4, 16, 4, 1024, 64, causal};
      a.dropout = dropout;
      check_derivatives(class_values<AttentionParameters>(),
                        [&](const auto& q) { return attention_formula(a, q, 132).value; });
    }
  }
}

TEST_CASE("the formulas of passes, copies, collectives and power differentiate") {
  for (const PassInfo& row : passes) {
    INFO(row.name);
    const Pass pass{row.kind, 4096, 768};
    check_derivatives(PassParameters<double>{1.5, 0.3, 0.2, 3.8},
                      [&](const auto& q) { return pass_formula(pass, q).value; });
  }
  check_derivatives(CopyParameters<double>{10, 50},
                    [](const auto& q) { return copy_formula(1e7, q).value; });
  check_derivatives(CollectiveParameters<double>{20, 5, 300}, [](const auto& q) {
    return collective_formula(CollectiveKind::all_reduce, 8, 1e7, q).value;
  });
  check_derivatives(class_values<PowerParameters>(),
                    [](const auto& q) { return power_formula(4e14, 2e12, 0.8, q); });
}

TEST_CASE("a pass that costs nothing but its start has finite derivatives") {
  // nll_loss moves no bytes that are counted; with row and element costs at their bound of 0 the
  // smooth maximum stands at (0, 0).
  using Jet = ceres::Jet<double, 4>;
  PassParameters<Jet> p{Jet(2, 0), Jet(0, 1), Jet(0, 2), Jet(4, 3)};
  const Jet time = pass_formula(Pass{PassKind::nll_loss, 64, 64}, p).value;
  CHECK(time.a == Approx(2e-6));
  for (int i = 0; i < 4; ++i) CHECK(std::isfinite(time.v[i]));
}
