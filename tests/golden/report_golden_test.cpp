// A report's forms, of figures made up here.
#include <cmath>

#include "reports/scenario_page.h"
#include "tests/golden/golden.h"
#include "tests/model/toy_gpu.h"

namespace stepsight {
namespace {

Scenario small_scenario(std::int64_t gpus) {
  Scenario s;
  s.model.name = "small|gpt <b>";
  s.model.layers = 4;
  s.model.hidden = 256;
  s.model.heads = s.model.kv_heads = 4;
  s.model.head_dim = 64;
  s.model.ffn = 1024;
  s.model.vocab = 1001;
  s.model.positions = 512;
  s.training.batch = 8;
  s.training.seq = 512;
  s.cluster.gpu = "toy";
  s.cluster.gpus = gpus;
  s.cluster.link = gpus > 1 ? "wire" : "";
  s.run.tokens = 1e10;
  s.cost.rent_per_gpu_hour = 2;
  s.cost.gpu_price = 20000;
  s.cost.node_price = 30000;
  s.cost.facility_share = 0.1;
  s.cost.power_price_per_kWh = 0.2;
  s.cost.gpu_power_W = 500;
  return s;
}

// Steps of 100 ms on one GPU and 125 ms on N.
StudyPoint some_point(std::int64_t gpus) {
  const bool several = gpus > 1;
  const auto n = static_cast<double>(gpus);
  StudyPoint p;
  p.scenario = small_scenario(gpus);
  Prediction& r = p.prediction;
  r.step = Seconds{several ? 0.125 : 0.1};
  r.samples_per_s = n * 8 / r.step.value;
  r.tokens_per_s = r.samples_per_s * 512;
  r.mfu = several ? 0.4 : 0.5;
  r.exposed_s = several ? 0.01 : 0;
  r.communication_s = several ? 0.03 : 0;
  r.message_bytes = several ? 2e9 : 0;
  r.gpu_busy_s = 0.11;
  r.unmeasured_share = 0.04;
  r.breakdown = {{WorkKind::gemm, 0.06}, {WorkKind::memory, 0.03}, {WorkKind::optimizer, 0.01}};
  r.attribution = {0.1, several ? 0.006 : 0, several ? 0.009 : 0, several ? 0.01 : 0, 0};
  r.memory.at_peak = {2e9, 4e9, 0, 7e9, 2.5e9, 0, 67e6};
  r.memory.peak = r.memory.at_peak.sum();
  r.memory.reserve = 1e9;
  r.memory.needed = r.memory.peak + r.memory.reserve;
  r.memory.largest_batch = 61;
  p.uncertainty.step = {0.9 * r.step.value, r.step.value, 1.2 * r.step.value};
  // What all counts share cancels in what an added card brings; the host's part differs.
  p.uncertainty.effects[index(StepInput::products)] = 0.05;
  p.uncertainty.term_log_sd[static_cast<std::size_t>(ErrorTerm::host)] = several ? 0.04 : 0.08;
  p.uncertainty.log_sd = std::hypot(0.05, several ? 0.04 : 0.08);
  p.uncertainty.contributions = {{"host issue",
                                  0.08,
                                  0.7,
                                  InputOrigin::class_value,
                                  "stepsight calibrate --quick -o my-card.toml"},
                                 {"matrix products", 0.05, 0.3, InputOrigin::measured, ""}};
  p.weak.one_gpu = Seconds{0.1};
  p.weak.step = r.step;
  p.weak.scaling = {0.8 * n / (several ? 1 : 0.8), several ? 0.8 : 1};
  const double s = p.weak.scaling.speedup;
  p.weak.speedup = {0.9 * s, s, 1.1 * s};
  p.weak.efficiency = scaled(p.weak.speedup, 1 / n);
  if (several) p.strong = p.weak;
  const Quantiles& step = p.uncertainty.step;
  p.money = money_of(p.scenario, toy_gpu(), {r.step.value, step.p5, step.p95});
  return p;
}

QuickPoint quick(const StudyPoint& p) {
  QuickPoint out;
  out.scenario = p.scenario;
  out.prediction.step = p.prediction.step;
  out.prediction.tokens_per_s = p.prediction.tokens_per_s;
  out.prediction.mfu = p.prediction.mfu;
  out.prediction.exposed_s = p.prediction.exposed_s;
  out.prediction.message_bytes = p.prediction.message_bytes;
  out.prediction.needed_bytes = p.prediction.memory.needed;
  out.weak = p.weak.scaling;
  if (p.strong) out.strong = p.strong->scaling;
  return out;
}

ScenarioReport some_report() {
  ScenarioReport out;
  out.title = "What do 2 cards bring?";
  out.axes = {"gpus"};
  out.coordinates = {{"1"}, {"2"}};
  out.curve = {some_point(1), some_point(2)};
  for (const StudyPoint& p : out.curve) out.sweep.push_back(quick(p));
  out.focus = out.curve.back();
  out.larger = {some_point(4)};
  out.notes = {"wire: a class value."};
  out.trace.tracks = {{"GPU 0, as all 2 of them", "compute", TrackKind::compute, 0},
                      {"GPU 0, as all 2 of them", "communication", TrackKind::communication, 0}};
  out.trace.names = {"forward", "bucket"};
  out.trace.slices = {{0, 0, 0, 100'000'000'000, SliceKind::forward},
                      {1, 1, 100'000'000'000, 125'000'000'000, SliceKind::message}};
  out.trace.end = 125'000'000'000;
  out.scenario_text = "[model]\nname = \"small\"\n";
  out.command = "stepsight predict small.toml";
  return out;
}

GpuProfile some_gpu() {
  GpuProfile gpu = toy_gpu();
  gpu.title = "Toy card";
  gpu.memory_bytes = 24e9;
  gpu.records = {{"a", 1, 0.1, 12, "toy.json"}, {"b", 2, 0.1, 0, "class value"}};
  gpu.quality = {{"gemm.bf16", 12, 4, 0.021, 0.019, 0.07}, {"pass.copy", 6, 0, 0.03, 0, 0}};
  gpu.sources = {"toy.json"};
  return gpu;
}

}  // namespace

TEST_CASE("a report reads as approved, in Markdown, JSON and CSV") {
  const Document document = scenario_page(some_report(), some_gpu(), Words("en"));
  check_golden("report.md", document_markdown(document));
  check_golden("report.json", document_json(document));
  check_golden("report.csv", document_csv(document));
}

TEST_CASE("a report in Chinese reads as approved, and has the same figures") {
  const Document chinese = scenario_page(some_report(), some_gpu(), Words("zh"));
  check_golden("report_zh.md", document_markdown(chinese));
  const Document english = scenario_page(some_report(), some_gpu(), Words("en"));
  REQUIRE(chinese.sections.size() == english.sections.size());
  // CSV has keys and figures; words are in its cells of words alone.
  const auto figures = [](const Document& d) {
    std::vector<double> out;
    for (const Section& s : d.sections) {
      for (const Block& b : s.blocks) {
        const auto* table = std::get_if<DocTable>(&b);
        if (table == nullptr) continue;
        for (const auto& row : table->rows) {
          for (const Cell& c : row) {
            if (c.value) out.push_back(*c.value);
          }
        }
      }
    }
    return out;
  };
  CHECK(figures(chinese) == figures(english));
  CHECK(figures(english).size() > 60);
}

}  // namespace stepsight
