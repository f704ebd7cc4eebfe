// Known parameters make synthetic points; the fit must find them again.
#include "model/fit/fit_profile.h"

#include <array>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "model/errors.h"
#include "model/fit/fit_collectives.h"
#include "model/fit/fit_host.h"
#include "model/fit/solve.h"
#include "model/power.h"
#include "model/timed_call.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"
#include "tests/model/toy_gpu.h"

using namespace stepsight;

namespace {

// Factors that scatter by `spread`, the same in every run and on every platform: a sum of twelve
// uniform numbers is as good as normal here.
class Noise {
 public:
  explicit Noise(double spread) : spread_(spread) {}
  double factor() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(engine_()) / 4294967296.0;
    return std::exp(spread_ * sum);
  }

 private:
  std::mt19937 engine_{20260101};
  double spread_;
};

// Each determined parameter within four of its standard deviations, and the deviation no excuse: at
// most `loosest` of the value.
template <template <typename> typename Parameters>
void check_found(const Solution& found, const Parameters<double>& truth, double loosest) {
  std::size_t i = 0;
  for (const auto& field : Parameters<double>::fields()) {
    INFO(field.info.name);
    CHECK(found.determined[i]);
    CHECK(std::abs(found.values[i] - truth.*field.member) <= 4 * found.deviations[i]);
    CHECK(found.deviations[i] <= loosest * std::abs(truth.*field.member));
    ++i;
  }
}

constexpr std::array<std::int64_t, 7> sizes{64, 256, 1024, 1536, 4096, 6144, 16384};

std::vector<GemmPoint> gemm_points(const GemmParameters<double>& truth, int sms, double spread) {
  Noise noise(spread);
  std::vector<GemmPoint> points;
  for (const std::int64_t m : sizes) {
    for (const std::int64_t n : sizes) {
      for (const std::int64_t k : sizes) {
        for (const std::int64_t off : {0, 4, 2, 1, -4, -2, -1}) {
          Gemm gemm{m, n - std::max<std::int64_t>(off, 0), k + std::min<std::int64_t>(off, 0)};
          gemm.layout = static_cast<Layout>(points.size() % 3);
          points.push_back(
              {gemm, gemm_formula(gemm, truth, {sms}).value * 1e6 * noise.factor(), 0});
        }
      }
    }
  }
  return points;
}

Measurements pass_measurements(PassKind kind) {
  Measurements m;
  m.sources = {"test.json"};
  for (const std::int64_t rows : {64, 256, 1024, 4096, 16384}) {
    for (const std::int64_t cols : {256, 768, 1024, 4096}) {
      const Pass pass{kind, rows, cols};
      m.passes.push_back(
          {pass, pass_formula(pass, PassParameters<double>{2, 0.1, 0.1, 3}).value * 1e6, 0, 0});
    }
  }
  return m;
}

}  // namespace

TEST_CASE("the fit of products finds the parameters that made the points") {
  const GemmParameters<double> truth{
      700, 150, 0.4, 35, 1500, 3, 3.5, 1.4, 2.5, 3.0, 5.5, 60, 300, 1.3, 1.1, 1.1, 1.6};
  const auto points = gemm_points(truth, 132, 0.03);
  const Solution found = solve_gemms(points, class_values<GemmParameters>(), {132});
  CHECK(found.converged);
  CHECK(found.residual_spread == Approx(0.03).epsilon(0.1));
  // With so many tilings to choose from, few shapes leave a part wave that could tell its weight.
  check_found(found, truth, 0.25);
}

TEST_CASE("the fit of attention finds the parameters that made the points") {
  const AttentionParameters<double> truth{550, 40, 250, 6, 0.5, 1.1, 1.7};
  Noise noise(0.02);
  std::vector<AttentionPoint> points;
  for (const std::int64_t batch : {1, 4, 16}) {
    for (const std::int64_t heads : {8, 32}) {
      for (const std::int64_t seq : {128, 512, 2048, 8192}) {
        for (const std::int64_t width : {32, 64, 128, 256}) {
          for (const int mode : {0, 1, 2, 3}) {
            Attention a{batch, heads, heads, seq, width, (mode & 1) != 0};
            a.dropout = (mode & 2) != 0;
            points.push_back({a, attention_formula(a, truth, 132).value * 1e6 * noise.factor(), 0});
          }
        }
      }
    }
  }
  const Solution found = solve_attention(points, class_values<AttentionParameters>(), 132);
  CHECK(found.converged);
  check_found(found, truth, 0.2);
}

TEST_CASE("the fits of passes, copies and collectives find the parameters that made the points") {
  Noise noise(0.02);
  const PassParameters<double> pass_truth{3, 2, 0.5, 3.2};
  std::vector<PassPoint> passes_measured;
  std::vector<CopyPoint> copies;
  std::vector<CollectivePoint> messages;
  const CopyParameters<double> copy_truth{12, 50};
  const CollectiveParameters<double> collective_truth{25, 8, 300};
  for (const std::int64_t rows : {64, 1024, 16384, 262144}) {
    for (const std::int64_t cols : {8, 64, 1024, 16384}) {
      const Pass pass{PassKind::layer_norm, rows, cols};
      for (int repeat = 0; repeat < 5; ++repeat) {
        passes_measured.push_back(
            {pass, pass_formula(pass, pass_truth).value * 1e6 * noise.factor(), 0, 0});
      }
    }
  }
  for (double bytes = 1024; bytes < 2e9; bytes *= 2) {
    copies.push_back(
        {true, bytes, copy_formula(bytes, copy_truth).value * 1e6 * noise.factor(), 0});
    const double us =
        collective_formula(CollectiveKind::all_reduce, 8, bytes, collective_truth).value * 1e6;
    messages.push_back({CollectiveKind::all_reduce, 8, bytes, us * noise.factor(), 0});
  }
  check_found(solve_passes(passes_measured, class_values<PassParameters>()), pass_truth, 0.2);
  check_found(solve_copies(copies, class_values<CopyParameters>()), copy_truth, 0.05);
  check_found(
      solve_collective(messages, class_values<CollectiveParameters>()), collective_truth, 0.2);
}

TEST_CASE("one sustained mix tells the energy of a FLOP, the rest of power stays class values") {
  Measurements m;
  m.sources = {"a power.json", "products"};
  m.gemms = {{{4096, 4096, 4096, 1, Dtype::bf16, Layout::TN}, 600, 1, SeenClock::unknown}};
  PowerParameters<double> truth = class_values<PowerParameters>();
  truth.flop_pJ = 1.25;
  const double watts = power_formula(257e12, 94e9, 0.87, truth);
  m.powers = {{257e12, 94e9, 0.87, watts, 0}};
  const FittedProfile fitted = fit_profile(toy_gpu(), m, FitOptions{});
  CHECK(fitted.profile.power.flop_pJ == Approx(1.25));
  CHECK(fitted.profile.power.static_W == truth.static_W);
  for (const ParameterRecord& r : fitted.profile.records) {
    if (r.name == "power.flop_pJ") {
      CHECK(r.points == 1);
      CHECK(r.source == "a power.json");
    } else if (r.name.starts_with("power.")) {
      CHECK(r.points == 0);
    }
  }
}

TEST_CASE("parameters that the points do not determine say so") {
  // Aligned products alone say nothing of misaligned ones.
  const GemmParameters<double> truth{
      700, 150, 0.4, 35, 1500, 3, 3.5, 1.4, 2.5, 3.0, 5.5, 60, 300, 1.3, 1.1, 1.1, 1.6};
  std::vector<GemmPoint> aligned;
  for (const GemmPoint& p : gemm_points(truth, 132, 0.01)) {
    if (alignment(p.gemm) == 16) aligned.push_back(p);
  }
  const Solution found = solve_gemms(aligned, class_values<GemmParameters>(), {132});
  const std::vector<bool> expected{true,
                                   true,
                                   true,
                                   true,
                                   true,
                                   true,
                                   true,
                                   true,
                                   false,
                                   false,
                                   false,
                                   false,
                                   false,
                                   false,
                                   false,
                                   true,
                                   true};
  CHECK(found.determined == expected);
  CHECK(found.values[10] == class_values<GemmParameters>().rows2_slowdown);

  const FittedProfile fitted = [&] {
    Measurements m;
    m.sources = {"aligned.json"};
    m.gemms = aligned;
    return fit_profile(toy_gpu(), m, {});
  }();
  for (const ParameterRecord& r : fitted.profile.records) {
    if (r.name == "gemm.bf16.rows2_slowdown") {
      CHECK(r.points == 0);
      CHECK(r.sd > 0);
      CHECK_THAT(r.source, match::ContainsSubstring("not determined"));
    }
  }
}

TEST_CASE("a fifth of the shapes is held out, each with all its layouts") {
  int held = 0;
  int all = 0;
  for (std::int64_t m = 64; m <= 8192; m += 128) {
    for (std::int64_t n = 64; n <= 4096; n += 192) {
      for (const std::int64_t k : {768, 1024, 4096}) {
        ++all;
        const bool out = held_out({m, n, k, 1, 0, 0});
        if (out) ++held;
        for (const std::int64_t layout : {1, 2}) {
          if (held_out({m, n, k, 4, layout, 7}) != out) FAIL("a shape was torn apart");
        }
      }
    }
  }
  CHECK(held > 0.18 * all);
  CHECK(held < 0.22 * all);
}

TEST_CASE("repeats of a shape become one point, their geometric mean") {
  Measurements m = pass_measurements(PassKind::gelu);
  const Pass shape{PassKind::gelu, 500, 500};
  for (const double us : {1.0, 4.0, 16.0}) m.passes.push_back({shape, us, 0, 0});
  const FittedProfile fitted = fit_profile(toy_gpu(), m, {});
  int rows = 0;
  for (const PointRow& row : fitted.points) {
    if (row.shape[0] != 500) continue;
    ++rows;
    CHECK(row.time_us == Approx(4));
  }
  CHECK(rows == 1);
  CHECK(cost(shape, fitted.profile).time.value == Approx(4e-6));
}

TEST_CASE("every parameter has a record, measured or not, and class values say so") {
  FittedProfile fitted = fit_profile(toy_gpu(), pass_measurements(PassKind::add), {});
  std::set<std::string> recorded;
  for (const ParameterRecord& r : fitted.profile.records) {
    CHECK(recorded.insert(r.name).second);
    CHECK(std::isfinite(r.sd));
    CHECK_FALSE(r.source.empty());
    if (r.name.starts_with("gemm.")) CHECK(r.points == 0);
  }
  for (const NamedParameter& p : named_parameters(fitted.profile)) {
    INFO(p.name);
    CHECK(recorded.contains(p.name));
    CHECK(*p.value >= p.info.lower);
    CHECK(*p.value <= p.info.upper);
  }
  // A kind that was not measured moves its bytes as the vectorised add does.
  CHECK(fitted.profile.pass[static_cast<std::size_t>(PassKind::gelu)].bandwidth_TBps ==
        fitted.profile.pass[static_cast<std::size_t>(PassKind::add)].bandwidth_TBps);
}

TEST_CASE("an embedding's backward measured with its fill is fitted without it") {
  Measurements m;
  m.sources = {"test.json"};
  const PassParameters<double> truth{10, 0, 0, 2};
  const Pass fill{PassKind::fill, 50304, 768};
  const PassParameters<double> fill_truth = class_values<PassParameters>();
  for (const std::int64_t rows : {1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072}) {
    const Pass pass{PassKind::embedding_backward, rows, 768};
    const double us =
        (pass_formula(pass, truth).value + pass_formula(fill, fill_truth).value) * 1e6;
    m.passes.push_back({pass, us, 50304, 0});
  }
  // No fill was measured: its class value is what is taken off.
  const FittedProfile fitted = fit_profile(toy_gpu(), m, {});
  const Pass asked{PassKind::embedding_backward, 4096, 768};
  CHECK(cost(asked, fitted.profile).time.value ==
        Approx(pass_formula(asked, truth).value).epsilon(1e-3));
}

TEST_CASE("collective sweeps need the name of their link, and a fit needs a point") {
  CHECK_THAT(message_of([] { fit_profile(toy_gpu(), Measurements{}, {}); }),
             match::ContainsSubstring("no point"));
  Measurements m;
  m.sources = {"sweep_2gpu.csv"};
  for (double bytes = 1024; bytes < 1e9; bytes *= 4) {
    m.collectives.push_back({CollectiveKind::all_reduce, 2, bytes, 20 + bytes / 1e5, 0});
  }
  CHECK_THAT(message_of([&] { fit_profile(toy_gpu(), m, {}); }),
             match::ContainsSubstring("--link"));
  const FittedProfile fitted = fit_profile(toy_gpu(), m, {"wire", {}});
  REQUIRE(fitted.profile.collectives.size() == 1);
  CHECK(fitted.profile.collectives[0].parameters.busbw_GBps == Approx(100).epsilon(0.02));
}

TEST_CASE(
    "the link behind calls that a host timed is found, and what the host hides is dropped by "
    "name") {
  constexpr double memory_GBps = 1000;
  for (const CollectiveKind kind : {CollectiveKind::all_reduce,
                                    CollectiveKind::all_gather,
                                    CollectiveKind::reduce_scatter,
                                    CollectiveKind::all_to_all}) {
    INFO(info(kind).name);
    const CollectiveParameters<double> truth{10, 0, 80};
    Measurements m;
    m.sources = {"torch_4gpu.csv"};
    for (double bytes = 1024; bytes < 4e9; bytes *= 2) {
      const Seconds alone = collective_formula(kind, 4, bytes, truth);
      const Seconds timed = timed_from_host(kind, Bytes{bytes}, alone, copy_rate(memory_GBps));
      m.collectives.push_back({kind, 4, bytes, timed.value * 1e6, 0});
    }
    const std::size_t all = m.collectives.size();
    take_host_out(m, memory_GBps);
    // A kilobyte takes 10 us on the link, the host 57 us or more.
    CHECK(m.collectives.size() < all);
    REQUIRE(m.skipped.size() == 1);
    CHECK_THAT(m.skipped[0],
               match::StartsWith("torch_4gpu.csv: " + std::to_string(all - m.collectives.size())));
    std::vector<PointRow> rows;
    const FittedCurves fitted = fit_collectives(m, "wire", rows);
    CHECK(fitted.curves.front().parameters.busbw_GBps == Approx(80).epsilon(0.01));
    CHECK(cost(fitted.curves.front(), Bytes{1e8}).time.value ==
          Approx(collective_formula(kind, 4, 1e8, truth).value).epsilon(0.01));
  }
  Measurements hidden;
  hidden.sources = {"torch_2gpu.csv"};
  hidden.collectives = {{CollectiveKind::all_reduce, 2, 1e4, 60, 0}};
  CHECK_THAT(message_of([&] { take_host_out(hidden, memory_GBps); }),
             match::ContainsSubstring("longer messages"));
}

TEST_CASE("the same points give the same profile, to the bit") {
  Measurements m = pass_measurements(PassKind::add);
  m.gemms = gemm_points(class_values<GemmParameters>(), 100, 0.05);
  FittedProfile first = fit_profile(toy_gpu(), m, {});
  FittedProfile second = fit_profile(toy_gpu(), m, {});
  const auto a = named_parameters(first.profile);
  const auto b = named_parameters(second.profile);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(*a[i].value == *b[i].value);
}

TEST_CASE("host phases count what the simulator issues") {
  HostPoint point;
  point.shape.family = Family::gpt;
  point.shape.layers = 2;
  point.shape.hidden = 128;
  point.shape.heads = point.shape.kv_heads = 2;
  point.shape.head_dim = 64;
  point.shape.ffn = 512;
  point.shape.vocab = 512;
  point.shape.bias = true;
  point.shape.fused_qkv = true;
  point.training.seq = 64;
  HostParameters<double> only{};
  only.optimizer_tensor_us = 1;
  point.phase = HostPhase::optimizer;
  // A tensor each: embedding, 2 x (two norms, four linear layers, each weight and bias), final
  // norm's two, head: 1 + 2 x 12 + 2 + 1.
  CHECK(host_time_us(host_counts(point), only) == 28);
  only = {};
  only.step_us = 1;
  point.phase = HostPhase::forward;
  CHECK(host_time_us(host_counts(point), only) == 1);
  // One more layer costs the same again.
  only.forward_us = 1;
  const double two = host_time_us(host_counts(point), only);
  point.shape.layers = 3;
  const double three = host_time_us(host_counts(point), only);
  point.shape.layers = 4;
  CHECK(host_time_us(host_counts(point), only) - three == three - two);
  CHECK(three > two);
}
