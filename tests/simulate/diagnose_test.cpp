#include "simulate/diagnose.h"

#include "model/io/link_file.h"
#include "model/io/model_file.h"
#include "model/io/profile_file.h"
#include "simulate/link_faults.h"
#include "simulate/predict.h"
#include "simulate/study.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

const ModelError untaught;

const GpuProfile& card() {
  static const GpuProfile gpu = read_profile("a100-sxm-80");
  return gpu;
}

Scenario scenario(const char* link, std::int64_t gpus, std::int64_t nodes = 1) {
  Scenario s;
  s.model = read_model("gpt2-774m");
  s.training.batch = 2;
  s.training.seq = 1024;
  s.training.compile = true;
  s.cluster.gpu = "a100-sxm-80";
  s.cluster.gpus = gpus;
  s.cluster.nodes = nodes;
  s.cluster.link = link;
  s.cluster.facts = find_link(link, "");
  return s;
}

// A run that takes exactly what is predicted on one GPU, and `n` on all.
DiagnoseQuestion asked(const Scenario& s, double n) {
  DiagnoseQuestion q;
  q.scenario = s;
  q.gpus = s.cluster.gpus;
  q.nodes = s.cluster.nodes;
  q.one = predict_step(on_one_gpu(s, false), card()).value;
  q.n = n;
  return q;
}

const Hypothesis* find(const Diagnosis& d, const std::string& name) {
  for (const Hypothesis& h : d.hypotheses) {
    if (h.name == name) return &h;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a run that takes what is predicted is as expected, and healthy where it scales") {
  const Scenario s = scenario("nvlink3-nvswitch", 8);
  const double step = predict_step(s, card()).value;
  const Diagnosis d = diagnose(asked(s, step), &card(), untaught);
  CHECK(d.verdict == Verdict::healthy);
  CHECK(d.expected->p50 == Approx(step));
  CHECK(d.expected->p5 <= step);
  CHECK(d.expected->p95 >= step);
  CHECK(d.gap == Approx(0).margin(1e-9));
  CHECK(d.hypotheses.empty());
  CHECK(d.to_do.empty());
}

TEST_CASE("a slow machine that is as slow as it must be is explained by its link, not broken") {
  const Scenario s = scenario("pcie3-x4-nop2p", 4);
  const Diagnosis d = diagnose(asked(s, predict_step(s, card()).value), &card(), untaught);
  CHECK(d.verdict == Verdict::explained);
  CHECK_THAT(d.headline, match::ContainsSubstring("as fast as this machine lets it be"));
  CHECK(d.to_do.size() == 3);
}

TEST_CASE("a run over each fault of a link is explained, and that fault is among those that fit") {
  for (const auto& [link, gpus, nodes] : {std::tuple{"nvlink3-nvswitch", 8, 1},
                                          std::tuple{"pcie4-x16-p2p", 2, 1},
                                          std::tuple{"nvlink3-nvswitch+8x200G-ib", 16, 2}}) {
    const Scenario s = scenario(link, gpus, nodes);
    const auto faults = link_faults(s.cluster);
    CHECK(faults.size() >= 2);
    for (const LinkFault& fault : faults) {
      const double step = predict_step(with_link(s, fault), card()).value;
      CAPTURE(link, fault.name, step);
      const Diagnosis d = diagnose(asked(s, step), &card(), untaught);
      CHECK((d.verdict == Verdict::explained || d.efficiency >= sound_efficiency ||
             step <= d.expected->p95));
      const Hypothesis* h = find(d, fault.name);
      if (d.hypotheses.empty()) continue;  // no slower than expected anyway
      REQUIRE(h != nullptr);
      CHECK(h->fits);
      CHECK(h->explains == Approx(1).epsilon(0.02));
    }
  }
}

TEST_CASE("exchange after each micro-step is told from the time it takes") {
  Scenario s = scenario("pcie4-x16-nop2p", 4);
  s.training.accumulation = 8;
  Scenario slow = s;
  slow.parallel.sync_each_micro_step = true;
  const Diagnosis d = diagnose(asked(s, predict_step(slow, card()).value), &card(), untaught);
  CHECK(d.verdict == Verdict::explained);
  const Hypothesis* h = find(d, "gradients travel after each micro-step");
  REQUIRE(h != nullptr);
  CHECK(h->fits);
  CHECK_FALSE(d.ask.empty());
}

TEST_CASE("a step longer than with any fault cannot be explained by any link") {
  const Scenario s = scenario("nvlink3-nvswitch", 2);
  DiagnoseQuestion q = asked(s, 0);
  q.n = 60 * *q.one;
  const Diagnosis d = diagnose(q, &card(), untaught);
  CHECK(d.verdict == Verdict::unexplained);
  CHECK(d.to_do.size() == 3);
  CHECK(d.implied_GBps.value() < 1);
}

TEST_CASE("evidence decides between hypotheses that fit alike") {
  const Scenario s = scenario("nvlink3-nvswitch", 8);
  DiagnoseQuestion q = asked(s, 0);
  q.n = 1.5 * *q.one;
  q.evidence.data_n = 0.5 * *q.one;
  const Diagnosis by_data = diagnose(q, &card(), untaught);
  CHECK(by_data.verdict == Verdict::explained);
  CHECK(by_data.hypotheses.front().cause == Cause::loader);
  CHECK(by_data.hypotheses.front().supported);
  q.evidence.data_n.reset();
  q.evidence.rank_spread = 1.5;
  q.n = 1.5 * predict_step(s, card()).value;
  CHECK(diagnose(q, &card(), untaught).hypotheses.front().cause == Cause::rank);
}

TEST_CASE("parts longer than the whole, and more than N times one, are contradictions") {
  const Scenario s = scenario("nvlink3-nvswitch", 8);
  DiagnoseQuestion q = asked(s, 0);
  q.n = 1.1 * *q.one;
  q.evidence.communication = 2 * *q.one;
  CHECK(diagnose(q, &card(), untaught).verdict == Verdict::unexplained);
  CHECK_THAT(diagnose(q, &card(), untaught).traps.front(),
             match::ContainsSubstring("longer than the whole"));
  q.evidence.communication.reset();
  q.n = 0.8 * *q.one;
  CHECK_THAT(diagnose(q, &card(), untaught).traps.front(),
             match::ContainsSubstring("more than N times one"));
}

TEST_CASE("a slower GPU of one's own hides more communication, and is expected to") {
  const Scenario s = scenario("pcie4-x16-nop2p", 2);
  const double n = predict_step(s, card()).value;
  DiagnoseQuestion q = asked(s, n);
  const double expected = diagnose(q, &card(), untaught).expected->p50;
  *q.one *= 1.5;
  const double slower = diagnose(q, &card(), untaught).expected->p50;
  CHECK(slower > expected);
  CHECK(slower < 1.5 * expected);  // what nothing hides does not grow with it
}

TEST_CASE("without model and card the rule of thumb speaks, and asks for the fact that matters") {
  DiagnoseQuestion q;
  q.gpus = 2;
  q.n = 1.0;
  CHECK(diagnose(q, nullptr, untaught).verdict == Verdict::unknown);
  CHECK_THAT(diagnose(q, nullptr, untaught).ask, match::ContainsSubstring("--t1"));
  q.one = 0.9;  // 1.8 times
  CHECK(diagnose(q, nullptr, untaught).verdict == Verdict::healthy);
  q.one = 0.55;  // 1.1 times
  CHECK(diagnose(q, nullptr, untaught).verdict == Verdict::unknown);
  CHECK_THAT(diagnose(q, nullptr, untaught).ask, match::ContainsSubstring("--params"));
  q.evidence.communication = 0.4;  // over 30 %
  CHECK(diagnose(q, nullptr, untaught).verdict == Verdict::explained);
  q.evidence.communication.reset();
  q.parameters = 1e9;  // 4 GB in 0.45 s: 8.9 GB/s
  const Diagnosis d = diagnose(q, nullptr, untaught);
  CHECK(d.verdict == Verdict::explained);
  CHECK(d.implied_GBps == Approx(8.9).epsilon(0.01));
  q.parameters = 1e6;  // 4 MB in 0.45 s
  CHECK(diagnose(q, nullptr, untaught).verdict == Verdict::unexplained);
}
