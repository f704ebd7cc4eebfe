#include "reports/trace_report.h"

#include <cmath>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/catch2.h"
#include "tests/simulate/toy_scenario.h"

namespace stepsight {

namespace {

TraceReport toy_report(std::int64_t gpus) {
  return {"</script> \"quoted\"", "toy", trace_step(toy_scenario(gpus), toy_gpu())};
}

std::int64_t nanoseconds(const nlohmann::json& us) {
  return static_cast<std::int64_t>(std::llround(us.get<double>() * 1000));
}

}  // namespace

TEST_CASE("a trace parses, and no two slices of a track overlap at a nanosecond's grain") {
  const auto trace = nlohmann::json::parse(perfetto_json(toy_report(4)));
  CHECK(trace["otherData"]["title"] == "</script> \"quoted\"");
  std::map<std::pair<int, int>, std::int64_t> ended;
  std::set<int> named;
  for (const auto& e : trace["traceEvents"]) {
    const std::string ph = e["ph"];
    if (ph == "M") {
      if (e["name"] == "thread_name") named.insert(e["tid"].get<int>());
      continue;
    }
    if (ph != "X") continue;
    auto& end = ended[{e["pid"].get<int>(), e["tid"].get<int>()}];
    REQUIRE(nanoseconds(e["ts"]) >= end);
    end = nanoseconds(e["ts"]) + nanoseconds(e["dur"]);
    CHECK(named.contains(e["tid"].get<int>()));
  }
  CHECK(ended.size() >= 5);
}

TEST_CASE("arrows begin and end within slices of their tracks") {
  const auto trace = nlohmann::json::parse(perfetto_json(toy_report(4)));
  std::map<int, std::map<std::int64_t, std::int64_t>> slices;  // track -> begin -> end
  std::map<int, int> ends;
  for (const auto& e : trace["traceEvents"]) {
    if (e["ph"] == "X") {
      slices[e["tid"].get<int>()][nanoseconds(e["ts"])] =
          nanoseconds(e["ts"]) + nanoseconds(e["dur"]);
    }
  }
  for (const auto& e : trace["traceEvents"]) {
    const std::string ph = e["ph"];
    if (ph != "s" && ph != "f") continue;
    ++ends[e["id"].get<int>()];
    const auto& track = slices.at(e["tid"].get<int>());
    auto slice = track.upper_bound(nanoseconds(e["ts"]));
    REQUIRE(slice != track.begin());
    --slice;
    CHECK(nanoseconds(e["ts"]) <= slice->second);
  }
  CHECK(!ends.empty());
  for (const auto& [id, n] : ends) CHECK(n == 2);
}

TEST_CASE("the same trace is the same bytes, and its overview fits 80 columns") {
  CHECK(perfetto_json(toy_report(2)) == perfetto_json(toy_report(2)));
  const std::string text = trace_text(toy_report(2));
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    CHECK(end - begin <= 80);
    begin = end + 1;
  }
}

}  // namespace stepsight
