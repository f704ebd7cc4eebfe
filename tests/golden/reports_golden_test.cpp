// The texts that people read, of figures made up here: a new measurement changes none of them.
#include <algorithm>

#include "reports/predict_report.h"
#include "reports/show_report.h"
#include "tests/golden/golden.h"
#include "tests/model/toy_gpu.h"

namespace stepsight {
namespace {

// A GPT of 4 blocks of 256, each GPU with 8 sequences of 512.
Scenario small_scenario(std::int64_t gpus) {
  Scenario s;
  s.model.name = "small-gpt";
  s.model.layers = 4;
  s.model.hidden = 256;
  s.model.heads = s.model.kv_heads = 4;
  s.model.head_dim = 64;
  s.model.ffn = 1024;
  s.model.vocab = 1001;
  s.model.positions = 512;
  s.model.tied_head = s.model.bias = s.model.fused_qkv = true;
  s.training.batch = 8;
  s.training.seq = 512;
  s.cluster.gpu = "toy";
  s.cluster.gpus = gpus;
  s.cluster.link = gpus > 1 ? "wire" : "";
  return s;
}

Memory some_memory(bool fits) {
  Memory m;
  m.parameters = m.gradients = 2e9;
  m.optimizer = 4e9;
  m.activations = 7e9;
  m.at_peak = {2e9, 4e9, 0, fits ? 7e9 : 78e9, 2.5e9, 0, 67e6};
  m.peak = m.at_peak.sum();
  m.reserve = 1e9;
  m.needed = m.peak + m.reserve;
  m.fits = fits;
  m.largest_batch = fits ? 61 : 5;
  if (!fits) {
    m.remedies = {{RemedyKind::smaller_batch, 5, 60e9, true},
                  {RemedyKind::recompute, 0, 20e9, true},
                  {RemedyKind::shard, 4, 85e9, false}};
  }
  return m;
}

// Steps of 100 ms on one GPU and 125 ms on N.
StudyPoint some_point(std::int64_t gpus) {
  const bool several = gpus > 1;
  const double n = static_cast<double>(gpus);
  StudyPoint p;
  p.scenario = small_scenario(gpus);
  Prediction& r = p.prediction;
  r.step = Seconds{several ? 0.125 : 0.1};
  r.samples_per_s = n * 8 / r.step.value;
  r.tokens_per_s = r.samples_per_s * 512;
  r.mfu = several ? 0.4 : 0.5;
  r.exposed_s = several ? 0.01 : 0;
  r.communication_s = several ? 0.04 : 0;
  r.message_bytes = several ? 2e9 : 0;
  r.buckets = several ? 80 : 0;
  r.host_s = 0.03;
  r.gpu_busy_s = r.step.value - 0.015;
  r.breakdown = {{WorkKind::gemm, 0.06},
                 {WorkKind::attention, 0.01},
                 {WorkKind::memory, 0.02},
                 {WorkKind::optimizer, 0.006}};
  r.attribution = {0.1, several ? 0.0051 : 0, several ? 0.0101 : 0, several ? 0.0098 : 0};
  r.memory = some_memory(true);
  const double speedup = several ? 0.8 * n : 1;
  p.weak = {Seconds{0.1}, r.step, {speedup, speedup / n}};
  const double strong = several ? 2 : 1;
  if (8 % gpus == 0)
    p.strong = ScalingPoint{Seconds{0.1}, Seconds{0.1 / strong}, {strong, strong / n}};
  return p;
}

// The same, with how sure each figure is.
StudyPoint some_sure_point(std::int64_t gpus) {
  StudyPoint p = some_point(gpus);
  const auto around = [](double value, double low, double high) {
    return Quantiles{value * low, value, value * high};
  };
  Uncertainty& u = p.uncertainty;
  u.step = around(p.prediction.step.value, 0.91, 1.27);
  u.log_sd = 0.1;
  u.parameter_log_sd = 0.06;
  u.contributions = {
      {"link bandwidth", 0.08, 0.64, InputOrigin::class_value, "all_reduce_perf -g 4 > sweep.log"},
      {"matrix products", 0.05, 0.25, InputOrigin::measured, "stepsight calibrate --quick"},
      {"the model itself", 0.033, 0.11, InputOrigin::measured, ""}};
  u.inside_calibration = false;
  u.outside = "link bandwidth";
  const auto fill = [&](ScalingPoint& s) {
    s.one_gpu_s = around(s.one_gpu.value, 0.95, 1.1);
    s.step_s = around(s.step.value, 0.91, 1.27);
    s.speedup = around(s.scaling.speedup, 0.9, 1.02);
    s.efficiency = around(s.scaling.efficiency, 0.9, 1.02);
  };
  fill(p.weak);
  if (p.strong) fill(*p.strong);
  p.exposed_s = around(p.prediction.exposed_s, 0.4, 2.5);
  return p;
}

PredictReport sure_sweep() {
  PredictReport report;
  report.axes = {"gpus"};
  report.coordinates = {{"1"}, {"4"}};
  report.points = {some_sure_point(1), some_sure_point(4)};
  Lever bridge;
  bridge.kind = LeverKind::nvlink_bridge;
  bridge.scenario = small_scenario(4);
  bridge.step = Seconds{0.108};
  bridge.gain = 0.157;
  bridge.speedup = {1.02, 1.157, 1.21};
  Lever batch;
  batch.kind = LeverKind::bigger_batch;
  batch.values = {"16", "8"};
  batch.key = "batch = 16";
  batch.same_training = false;
  batch.step = Seconds{0.23};
  batch.gain = 0.087;
  batch.speedup = {1.01, 1.087, 1.12};
  report.levers = {bridge, batch};
  return report;
}

PredictReport gpus_sweep() {
  PredictReport report;
  report.title = "How much faster are four cards?";
  report.axes = {"gpus"};
  report.coordinates = {{"1"}, {"4"}, {"16"}};
  report.points = {some_point(1), some_point(4), some_point(16)};
  return report;
}

}  // namespace

TEST_CASE("A sweep over GPU counts reads as approved") {
  check_golden("predict_gpus.txt", predict_text(gpus_sweep(), toy_gpu()));
}

TEST_CASE("A strong-scaling scenario that lacks memory and waits for its link reads as approved") {
  PredictReport report;
  report.points = {some_point(4)};
  report.coordinates = {{}};
  StudyPoint& p = report.points.front();
  p.scenario.training.global_batch = 64;
  p.scenario.training.accumulation = 2;
  p.strong = ScalingPoint{Seconds{0.36}, p.prediction.step, {2.88, 0.72}};
  p.prediction.exposed_s = 0.05;
  p.prediction.communication_s = 0.09;
  p.prediction.memory = some_memory(false);
  p.prediction.unmeasured_share = 0.25;
  p.prediction.clock = 0.9;
  p.padded_vocabulary = Seconds{0.1};
  report.notes = {"No --link was given: took wire."};
  GpuProfile gpu = toy_gpu();
  gpu.power_W = 700;
  check_golden("predict_strong.txt", predict_text(report, gpu));
}

TEST_CASE("A host-bound sweep over other keys reads as approved") {
  PredictReport report;
  report.axes = {"precision", "batch"};
  report.coordinates = {{"bf16", "8"}, {"fp32", "8"}};
  report.points = {some_point(1), some_point(1)};
  report.points.back().prediction.host_bound = true;
  report.points.back().prediction.host_s = 0.099;
  check_golden("predict_host.txt", predict_text(report, toy_gpu()));
}

TEST_CASE("A sweep with intervals and levers reads as approved") {
  check_golden("predict_sure.txt", predict_text(sure_sweep(), toy_gpu()));
  check_golden("predict_sure.json", predict_json(sure_sweep()));
}

// With prices, a run's length and failures.
static PredictReport priced_sweep() {
  PredictReport report = gpus_sweep();
  GpuProfile gpu = toy_gpu();
  gpu.power_W = 500;
  for (StudyPoint& p : report.points) {
    Scenario& s = p.scenario;
    s.cluster.nodes = std::max<std::int64_t>(1, s.cluster.gpus / 8);
    s.run = {1e11, 0, 20000, 60, 0, 600};
    s.cost.list = "a-list";
    s.cost.list_title = "prices of a test (2026-01)";
    s.cost.rent_per_gpu_hour = 2;
    s.cost.gpu_price = 20000;
    s.cost.node_price = 30000;
    s.cost.facility_share = 0.1;
    s.cost.power_price_per_kWh = 0.2;
    s.cost.pue = 1.3;
    s.cost.day_worth = 25;
    const double step = p.prediction.step.value;
    p.money = money_of(s, gpu, {step, 0.9 * step, 1.2 * step});
  }
  return report;
}

TEST_CASE("The cost of a sweep over cards reads as approved") {
  check_golden("predict_money.txt", predict_text(priced_sweep(), toy_gpu()));
  check_golden("predict_money.json", predict_json(priced_sweep()));
}

TEST_CASE("A prediction in Chinese reads as approved") {
  check_golden("predict_sure_zh.txt", predict_text(sure_sweep(), toy_gpu(), Words("zh")));
  check_golden("predict_money_zh.txt", predict_text(priced_sweep(), toy_gpu(), Words("zh")));
}

TEST_CASE("The machine's form of a prediction reads as approved") {
  check_golden("predict.json", predict_json(gpus_sweep()));
  check_golden("predict.csv", predict_csv(gpus_sweep()));
}

TEST_CASE("Lists of models, cards and links read as approved") {
  const GpuProfile gpu = toy_gpu();
  const ModelShape model = small_scenario(1).model;
  std::vector<LinkRow> rows;
  for (const CollectiveCurve& curve : gpu.collectives) rows.push_back({gpu.name, curve});
  rows.back().card.clear();
  rows.back().origin = CurveOrigin::class_value;
  check_golden("show_models.txt", models_text({&model, 1}));
  check_golden("show_gpus.txt", gpus_text({&gpu, 1}));
  check_golden("show_links.txt", links_text(rows));
  check_golden("show_link.txt", link_text(rows));
}

TEST_CASE("A profile's parameters with their sources read as approved") {
  GpuProfile gpu = toy_gpu();
  gpu.records = {{"gemm.bf16.peak_TFLOPS", 612.3, 1.5, 1200, "gemm.json"},
                 {"gemm.bf16.ramp_k", 100, 30, 0, "class value"},
                 {"host.step_us", 123.4, 5.6, 14, "host.json, gemm.json"},
                 {"host.forward_us", 9.87, 0.00012, 14, "gemm.json"}};
  gpu.quality = {{"gemm.bf16", 1200, 300, 0.05, 0.021, 0.087}, {"host", 14, 0, 0.12, 0, 0}};
  check_golden("show_profile.txt", profile_report_text(gpu));
}

}  // namespace stepsight
