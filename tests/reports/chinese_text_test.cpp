// Texts in each language, predict's apart: the same figures, within the terminal's columns.
#include <cctype>
#include <set>
#include <sstream>

#include "reports/diagnose_report.h"
#include "reports/text_width.h"
#include "reports/traced_report.h"
#include "reports/validate_report.h"
#include "reports/waterfall_report.h"
#include "tests/catch2.h"

namespace stepsight {

namespace {

Validation some_runs() {
  Validation out;
  out.rows = 1712;
  out.refused["no such model"] = 12;
  for (int i = 0; i < 60; ++i) {
    ValidationPoint p;
    p.id = "H2" + std::to_string(i);
    p.measured_s = 0.1;
    p.predicted_s = 0.1 + 0.0005 * i;
    p.host_bound = i % 3 == 0;
    p.interval = {0.05, p.predicted_s, 0.3};
    p.undoubted = true;
    p.groups = {{"source", "a source of a long name " + std::to_string(i % 2)},
                {"gpu", "rtx-pro-6000-blackwell-" + std::to_string(i % 4)},
                {"model", "gpt2-1558m"},
                {"table", "ddp"}};
    if (i % 2 == 0) p.measured_peak = p.predicted_peak = 1e9;
    // A row of one GPU, and rows of four that do its work and say what they waited for.
    p.work = "the same";
    p.gpus = i == 0 ? 1 : 4;
    if (p.gpus > 1) {
      p.measured_exposed_s = 0.012;
      p.predicted_exposed_s = 0.012 + 0.0001 * i;
    }
    out.points.push_back(p);
  }
  return out;
}

StepsBetween some_steps() {
  StepsBetween out{"gpus = 1", "gpus = 8", {}, {}};
  for (std::size_t i = 0; i < step_cause_count; ++i) {
    out.from.parts[i] = i == 0 ? 90'000'000'000 : 0;
    out.to.parts[i] = i == 0 ? 85'000'000'000 : static_cast<Picoseconds>(i) * 1'234'567'890;
    out.from.step += out.from.parts[i];
    out.to.step += out.to.parts[i];
  }
  return out;
}

// On one card and on eight; `bound`: "loader", "host", "link" or "gpu". With everything that such a
// text can have: carried over, unsure, with prices.
TracedReport some_traced_step(std::string_view bound) {
  TracedReport out;
  out.step.file = "step.json.gz";
  out.step.name = "ProfilerStep#12";
  out.step.steps = 3;
  out.step.micro_steps = 2;
  out.step.gpu = "Toy";
  out.axes = {"gpus", "batch"};
  out.coordinates = {{"1", "64"}, {"8", "64"}};
  out.batch = 64;
  for (const std::int64_t gpus : {1, 8}) {
    TracedPoint& traced = out.points.emplace_back();
    StudyPoint& p = traced.point;
    p.scenario.cluster.gpus = gpus;
    p.scenario.cluster.link = "wire";
    Prediction& r = p.prediction;
    r.step = Seconds{0.125};
    r.communication_s = 0.07;
    r.exposed_s = bound == "link" ? 0.06 : 0.01;
    r.attribution = {
        .alone = 0.09, .exposed = r.exposed_s, .loading = bound == "loader" ? 0.02 : 0};
    r.host_bound = bound == "host";
    r.host_s = 0.08;
    r.gpu_busy_s = 0.1;
    r.message_bytes = 2e9;
    r.buckets = 80;
    r.unmeasured_share = 0.3;
    p.exposed_s = {0.5 * r.exposed_s, r.exposed_s, 1.5 * r.exposed_s};
    p.uncertainty.step = {0.11, 0.125, 0.14};
    p.uncertainty.contributions = {
        {"host issue", 0.1, 0.8, InputOrigin::class_value, "stepsight calibrate host"}};
    p.weak.scaling = {6.4, 0.8};
    p.weak.speedup = {6, 6.4, 6.7};
    p.weak.efficiency = {0.75, 0.8, 0.84};
    traced.costs.by_operator = 0;
    traced.costs.by_rate = 1;
    traced.traced_host_s = 0.2;
    const Figure figure{5.5, 4.25, 6.75};
    p.money = Money{};
    p.money->rent = Spending{24, figure, figure, figure};
    p.money->own = Spending{12, figure, figure, figure};
    p.money->run_s = Figure{36000, 30000, 40000};
  }
  return out;
}

DiagnosedRun some_diagnosis() {
  DiagnosedRun out;
  out.name = "gpt2-355m on 2 x rtx-3090, pcie4-x16-nop2p";
  out.question.gpus = 2;
  out.question.one = 0.75;
  out.question.n = 1.33;
  Diagnosis& d = out.diagnosis;
  d.verdict = Verdict::unexplained;
  d.headline = "slower than with any fault of the link that is known";
  d.speedup = 1.13;
  d.efficiency = 0.56;
  d.expected = Quantiles{0.7, 0.8, 0.9};
  d.expected_one = Quantiles{0.6, 0.75, 0.8};
  d.expected_speedup = Quantiles{1.6, 1.8, 2};
  d.gap = 0.5;
  d.implied_GBps = 1.3;
  d.hypotheses = {{Cause::link,
                   "a name of a cause that is longer than the column for it",
                   "",
                   {0.4, 1, 2},
                   0.99,
                   true,
                   true}};
  return out;
}

void check_width(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(text_width(line) <= 80);
  }
}

// "82", "3.5", ...: as a set, since languages order their sentences differently.
std::set<std::string> figures(const std::string& text) {
  std::set<std::string> out;
  std::string now;
  for (const char c : text + " ") {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || (c == '.' && !now.empty())) {
      now += c;
      continue;
    }
    while (now.ends_with('.')) now.pop_back();
    if (!now.empty()) out.insert(now);
    now.clear();
  }
  return out;
}

}  // namespace

TEST_CASE("errors of runs have the same figures in each language, within 80 columns") {
  const std::string english = validation_text(some_runs(), false);
  const std::string chinese = validation_text(some_runs(), false, Words("zh"));
  check_width(english);
  check_width(chinese);
  CHECK(chinese.find("瓶颈为主机") != std::string::npos);
  CHECK(figures(chinese) == figures(english));
  CHECK(validation_text(some_runs(), true, Words("zh")).find("实测") != std::string::npos);
}

TEST_CASE("waiting and efficiency of runs are told in each language where rows measured them") {
  CHECK(validation_text(some_runs(), false).find("Exposed communication of 59 rows") !=
        std::string::npos);
  const std::string chinese = validation_text(some_runs(), false, Words("zh"));
  CHECK(chinese.find("59 行实测了暴露的通信") != std::string::npos);
  CHECK(chinese.find("用于检验扩展效率") != std::string::npos);
  Validation none = some_runs();
  for (ValidationPoint& p : none.points) {
    p.measured_exposed_s.reset();
    p.work.clear();
  }
  CHECK(validation_text(none, false, Words("zh")).find("暴露的通信") == std::string::npos);
}

TEST_CASE("how two steps differ has the same figures in each language, within 80 columns") {
  const std::string english = between_text(some_steps(), Words("en"));
  const std::string chinese = between_text(some_steps(), Words("zh"));
  check_width(english);
  check_width(chinese);
  CHECK(chinese.find("暴露的数据传输") != std::string::npos);
  CHECK(english.find("exposed bytes") != std::string::npos);
  CHECK(figures(chinese) == figures(english));
}

TEST_CASE("a traced step has the same figures in each language, within 80 columns") {
  GpuProfile gpu;
  gpu.title = "Toy card";
  const std::pair<std::string_view, const char*> bounds[] = {{"loader", "瓶颈在数据加载"},
                                                             {"host", "瓶颈在主机"},
                                                             {"link", "瓶颈在互连"},
                                                             {"gpu", "瓶颈在 GPU 计算"}};
  for (const auto& [bound, words] : bounds) {
    const TracedReport report = some_traced_step(bound);
    const std::string english = traced_text(report, gpu);
    const std::string chinese = traced_text(report, gpu, Words("zh"));
    INFO(english << chinese);
    check_width(english);
    check_width(chinese);
    CHECK(figures(chinese) == figures(english));
    std::string unbroken = chinese;
    std::erase(unbroken, '\n');
    CHECK(unbroken.find(words) != std::string::npos);
    CHECK(unbroken.find("8 张 GPU 的成本") != std::string::npos);
    CHECK(unbroken.find("在性能分析器下") != std::string::npos);
    // No sentence of one language in the other.
    CHECK(unbroken.find(" the ") == std::string::npos);
  }
}

TEST_CASE("a diagnosis has the same figures in each language, within 80 columns") {
  const std::string english = diagnosis_text(some_diagnosis());
  const std::string chinese = diagnosis_text(some_diagnosis(), Words("zh"));
  check_width(english);
  check_width(chinese);
  CHECK(chinese.find("结论：任何链路都无法解释") != std::string::npos);
  CHECK(figures(chinese) == figures(english));
  const DiagnosedTable table{{some_diagnosis()}, {"row 12: no row of one GPU to compare with"}, ""};
  check_width(diagnoses_text(table, Words("zh")));
  CHECK(figures(diagnoses_text(table, Words("zh"))) == figures(diagnoses_text(table)));
}

}  // namespace stepsight
