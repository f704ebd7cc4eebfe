// Texts of validate and diagnose in each language: the same figures, within the terminal's columns.
#include <cctype>
#include <set>
#include <sstream>

#include "reports/diagnose_report.h"
#include "reports/text_width.h"
#include "reports/validate_report.h"
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
    out.points.push_back(p);
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
  d.hypotheses = {{Cause::link, "a name of a cause that is longer than the column for it", "", {0.4, 1, 2}, 0.99,
                   true, true}};
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
