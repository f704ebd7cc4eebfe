// What must hold for the formulas with any parameters within their bounds, and any shape.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <rapidcheck.h>

#include "model/collective.h"
#include "model/cost.h"
#include "model/parameters.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

std::int64_t between(std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

// Sizes as they occur: most of them even in the logarithm.
std::int64_t size_up_to(int bits) {
  const int b = static_cast<int>(between(0, bits));
  return between(std::int64_t{1} << b, std::int64_t{2} << b);
}

template <template <typename> typename Parameters>
Parameters<double> any_parameters() {
  Parameters<double> p{};
  for (const auto& field : Parameters<double>::fields()) {
    const double lower = std::max(field.info.lower, 1e-3);
    const double part = static_cast<double>(between(0, 1000)) / 1000;
    // Uniform in the logarithm, and sometimes at the bound itself.
    p.*field.member =
        between(0, 9) == 0 ? field.info.lower : lower * std::pow(field.info.upper / lower, part);
    p.*field.member = std::clamp(p.*field.member, field.info.lower, field.info.upper);
  }
  return p;
}

// Aligned, so that a larger size is never worse aligned than a smaller one.
Multiprocessors any_multiprocessors() {
  return {static_cast<int>(between(1, 200)), between(0, 1) == 1};
}

Gemm any_gemm() {
  Gemm g;
  g.m = 8 * size_up_to(12);
  g.n = 8 * size_up_to(12);
  g.k = 8 * size_up_to(12);
  g.batch = between(1, 4);
  g.layout = static_cast<Layout>(between(0, 2));
  return g;
}

// Equal but for rounding.
bool at_least(double value, double bound) {
  return value >= bound * (1 - 1e-12);
}

}  // namespace

TEST_CASE("a product is never faster than its FLOP at the peak nor its bytes at the bandwidth") {
  CHECK(rc::check([] {
    Gemm gemm = any_gemm();
    gemm.n += between(-7, 0);  // any alignment
    const auto p = any_parameters<GemmParameters>();
    const double time = gemm_formula(gemm, p, any_multiprocessors()).value;
    RC_ASSERT(std::isfinite(time));
    RC_ASSERT(at_least(time, flops(gemm).value / (p.peak_TFLOPS * 1e12)));
    RC_ASSERT(at_least(time, bytes(gemm).value / (p.bandwidth_TBps * 1e12)));
    RC_ASSERT(at_least(time, p.overhead_us * 1e-6));
  }));
}

TEST_CASE("a larger product of the same alignment never takes less") {
  CHECK(rc::check([] {
    Gemm gemm = any_gemm();
    // Steps of 8 leave every remainder, and so every row's alignment, as it is.
    gemm.n += between(0, 7);
    gemm.k += between(0, 7);
    const auto p = any_parameters<GemmParameters>();
    const Multiprocessors sms = any_multiprocessors();
    const double time = gemm_formula(gemm, p, sms).value;
    Gemm larger = gemm;
    larger.m += 8 * between(0, 100);
    RC_ASSERT(at_least(gemm_formula(larger, p, sms).value, time));
    larger = gemm;
    larger.n += 8 * between(0, 100);
    RC_ASSERT(at_least(gemm_formula(larger, p, sms).value, time));
    larger = gemm;
    larger.k += 8 * between(0, 100);
    RC_ASSERT(at_least(gemm_formula(larger, p, sms).value, time));
    larger = gemm;
    larger.batch += between(0, 8);
    RC_ASSERT(at_least(gemm_formula(larger, p, sms).value, time));
  }));
}

TEST_CASE("attention is never faster than its FLOP at its peak, and grows with every size") {
  CHECK(rc::check([] {
    Attention a{
        between(1, 32), between(1, 64), 1, size_up_to(14), size_up_to(8), between(0, 1) == 1};
    a.backward = between(0, 1) == 1;
    a.dropout = between(0, 1) == 1;
    const auto p = any_parameters<AttentionParameters>();
    const int sms = static_cast<int>(between(1, 200));
    const auto time = [&](const Attention& x) { return attention_formula(x, p, sms).value; };
    // Without a causal mask the peak is another one.
    const double peak = p.peak_TFLOPS * 1e12 * (a.causal ? 1 : p.full_mask_gain);
    RC_ASSERT(std::isfinite(time(a)));
    RC_ASSERT(at_least(time(a), flops(a).value / peak));
    for (std::int64_t Attention::*size :
         {&Attention::batch, &Attention::heads, &Attention::seq, &Attention::head_dim}) {
      Attention larger = a;
      larger.*size += between(0, 200);
      RC_ASSERT(at_least(time(larger), time(a)));
    }
  }));
}

TEST_CASE("a pass is never faster than its bytes, and grows with rows and columns") {
  CHECK(rc::check([] {
    const PassInfo& row =
        passes[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(passes.size()) - 1))];
    const Pass pass{row.kind, size_up_to(18), size_up_to(18), static_cast<Dtype>(between(0, 4))};
    const auto p = any_parameters<PassParameters>();
    const double time = pass_formula(pass, p).value;
    RC_ASSERT(std::isfinite(time));
    RC_ASSERT(at_least(time, bytes(pass).value / (p.bandwidth_TBps * 1e12)));
    Pass larger = pass;
    larger.rows += between(0, 1000);
    RC_ASSERT(at_least(pass_formula(larger, p).value, time));
    larger = pass;
    larger.cols += between(0, 1000);
    RC_ASSERT(at_least(pass_formula(larger, p).value, time));
  }));
}

TEST_CASE("a collective never beats its bus bandwidth, and grows with its message without a jump") {
  CHECK(rc::check([] {
    const auto kind = static_cast<CollectiveKind>(between(0, 3));
    const std::int64_t ranks = between(2, 64);
    const auto p = any_parameters<CollectiveParameters>();
    const auto message = static_cast<double>(size_up_to(33));
    const auto time = [&](double b) { return collective_formula(kind, ranks, b, p).value; };
    const double busbw = message * traffic_factor(kind, ranks) / time(message);
    RC_ASSERT(busbw <= p.busbw_GBps * 1e9 * (1 + 1e-12));
    RC_ASSERT(at_least(time(message), p.latency_us * 1e-6));
    RC_ASSERT(at_least(time(message * 1.01), time(message)));
    // A thousandth more bytes costs at most a thousandth more time.
    RC_ASSERT(time(message * 1.001) <= time(message) * 1.001 * (1 + 1e-12));
  }));
}

TEST_CASE("a product that is deeper by one step takes at most its share longer") {
  // Nothing is quantised along k, so that there is no jump.
  CHECK(rc::check([] {
    Gemm gemm = any_gemm();
    gemm.n += between(0, 7);
    gemm.k = 8 * between(8, 2000) + between(0, 7);
    const auto p = any_parameters<GemmParameters>();
    Gemm deeper = gemm;
    deeper.k += 8;
    const double share = static_cast<double>(deeper.k) / static_cast<double>(gemm.k);
    RC_ASSERT(gemm_formula(deeper, p, {132}).value <=
              gemm_formula(gemm, p, {132}).value * share * (1 + 1e-9));
  }));
}

}  // namespace stepsight
