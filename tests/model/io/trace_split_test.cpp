#include <cstring>
#include <random>

#include "model/io/logs/trace_split_file.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

StepSplit split_of(const std::string& text) {
  return read_step_split([&] {
    auto at = std::make_shared<std::size_t>(0);
    return std::make_unique<TraceStream>("rank0.json", [&text, at](char* to, std::size_t size) {
      const std::size_t n = std::min(size, text.size() - *at);
      std::memcpy(to, text.data() + *at, n);
      *at += n;
      return n;
    });
  });
}

std::string event(const char* category, const std::string& name, double start, double duration) {
  return std::string(R"({"ph": "X", "cat": ")") + category + R"(", "name": ")" + name +
         R"(", "pid": 0, "tid": 7, "ts": )" + std::to_string(start) +
         ", \"dur\": " + std::to_string(duration) + R"(, "args": {"device": 0}})";
}

// Three steps of 100 us: 60 of compute, then 30 of a collective of which 10 lie beside compute,
// then a gap.
std::string three_steps() {
  std::string out = "{\"traceEvents\": [";
  for (int i = 0; i < 3; ++i) {
    const double t = 1000 + 100.0 * i;
    const std::string n = std::to_string(i);
    out += (i > 0 ? ",\n" : "") + event("gpu_user_annotation", "ProfilerStep#" + n, t, 100);
    out += ",\n" + event("kernel", "sgemm", t, 60);
    out += ",\n" + event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", t + 50, 30);
  }
  return out + "]}";
}

}  // namespace

TEST_CASE("a step's time is split into compute, exposed communication and nothing") {
  const StepSplit s = split_of(three_steps());
  CHECK(s.step == Approx(100));
  CHECK(s.compute == Approx(60));
  CHECK(s.communication == Approx(30));
  CHECK(s.exposed == Approx(20));
  CHECK(s.idle == Approx(20));
  CHECK(s.collectives.size() == 1);
  CHECK(s.step_name.starts_with("ProfilerStep#"));
}

TEST_CASE("the parts of any step add up to it") {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::vector<KernelSpan> spans;
    for (int k = 0; k < 30; ++k) {
      const double start = static_cast<double>(random() % 1000);
      spans.push_back({start, start + static_cast<double>(random() % 200), random() % 3 == 0});
    }
    const StepSplit s = split_step(spans, 100, 900);
    CHECK(s.compute + s.exposed + s.idle == Approx(800));
    CHECK(s.exposed <= s.communication + 1e-9);
    // By hand, microsecond by microsecond: all times are whole.
    double compute = 0;
    double exposed = 0;
    for (int t = 100; t < 900; ++t) {
      bool any = false;
      bool collective = false;
      for (const KernelSpan& k : spans) {
        if (k.start > t || k.end < t + 1) continue;
        (k.collective ? collective : any) = true;
      }
      compute += any ? 1 : 0;
      exposed += collective && !any ? 1 : 0;
    }
    CHECK(s.compute == Approx(compute).margin(1e-6));
    CHECK(s.exposed == Approx(exposed).margin(1e-6));
  }
}

TEST_CASE("over ranks the shortest of a collective's kernels is the wire, the rest waiting") {
  StepSplit fast, slow;
  fast.collectives = {30, 10};
  slow.collectives = {20, 12};
  const RankSplit r = split_ranks(std::vector<StepSplit>{fast, slow});
  CHECK(r.matched);
  CHECK(r.wire == 30);
  CHECK(r.waiting[0] == 10);
  CHECK(r.waiting[1] == 2);
  slow.collectives.push_back(1);
  CHECK_FALSE(split_ranks(std::vector<StepSplit>{fast, slow}).matched);
}

TEST_CASE("a trace without kernels, or cut anywhere, is refused with a message") {
  CHECK_THAT(message_of([] { split_of("{\"traceEvents\": []}"); }),
             match::ContainsSubstring("no kernel"));
  const std::string whole = three_steps();
  for (std::size_t end = 0; end < whole.size(); end += 7) {
    CHECK_FALSE(message_of([&] { split_of(whole.substr(0, end)); }).empty());
  }
}
