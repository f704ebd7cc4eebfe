#include "calibrate/measure/measurement_log.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>

#include <unistd.h>

#include "model/errors.h"
#include "tests/catch2.h"

namespace stepsight::calibrate {
namespace {

constexpr Tool tool{.name = "calibrate_test",
                    .summary = "tests",
                    .example = "calibrate_test",
                    .quick_budget_s = 1,
                    .full_budget_s = 1,
                    .extras = {}};

// A path that is removed at the end.
struct TemporaryFile {
  std::string path;
  explicit TemporaryFile(const char* name)
      : path("/tmp/stepsight_test_" + std::to_string(::getpid()) + "_" + name) {}
  ~TemporaryFile() { std::remove(path.c_str()); }

  std::string read() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

Point point(std::int64_t m, double us) {
  return {.op = "gemm",
          .shape = {field("m", m), field("dtype", "bf16")},
          .time_us = {.median = us, .q1 = us, .q3 = us, .mad = 0, .min = us, .n = 5},
          .results = {field("TFLOPS", 1.5)}};
}

Options to_file(const TemporaryFile& file, bool resume) {
  Options options;
  options.output = file.path;
  options.resume = resume;
  options.command = "calibrate_test";
  return options;
}

MeasurementLog log_of_h200(const TemporaryFile& file, bool resume) {
  MeasurementLog log(tool, to_file(file, resume), "NVIDIA H200");
  log.set_section("machine", {field("gpu", "NVIDIA H200"), field("l2_bytes", 62914560)});
  return log;
}

}  // namespace

TEST_CASE("a record is one line of JSON with seven digits and without NaN") {
  const Record record{field("op", "a\"b\\\n"),
                      field("n", 3U),
                      field("us", 0.1),
                      field("yes", true),
                      field("bad", std::nan("")),
                      field("big", 12345678.9)};
  CHECK(to_json(record) ==
        "{\"op\": \"a\\\"b\\\\\\u000a\", \"n\": 3, \"us\": 0.1, \"yes\": true, \"bad\": null, "
        "\"big\": 1.234568e+07}");
}

TEST_CASE("what a log writes comes back from the reader as it was") {
  const TemporaryFile file("roundtrip");
  MeasurementLog log = log_of_h200(file, false);
  log.set_top(field("driver", "580.1"));
  log.add(point(512, 12.5));
  log.add(point(1024, 25));
  log.finish("complete");
  const ParsedFile parsed = parse_measurement(file.read(), "x");
  CHECK(std::get<std::int64_t>(*find(parsed.top, "schema")) == 1);
  CHECK(std::get<std::string>(*find(parsed.top, "driver")) == "580.1");
  CHECK(std::get<std::string>(*find(parsed.top, "status")) == "complete");
  REQUIRE(parsed.points.size() == 2);
  CHECK(parsed.points[0] == to_record(point(512, 12.5)));
  REQUIRE(parsed.sections.size() == 1);
  CHECK(parsed.sections[0].first == "machine");
}

TEST_CASE("a resumed run keeps the points it finds and measures only the others") {
  const TemporaryFile file("resume");
  MeasurementLog first = log_of_h200(file, false);
  first.add(point(512, 12.5));
  first.finish("interrupted");
  MeasurementLog second = log_of_h200(file, true);
  CHECK(second.kept() == 1);
  CHECK(second.has("gemm", point(512, 1).shape));
  CHECK_FALSE(second.has("gemm", point(1024, 1).shape));
  CHECK_FALSE(second.has("conv", point(512, 1).shape));
  second.add(point(512, 99));  // measured already: the earlier time stays
  second.add(point(1024, 25));
  second.finish("complete");
  const ParsedFile parsed = parse_measurement(file.read(), "x");
  REQUIRE(parsed.points.size() == 2);
  CHECK(parsed.points[0] == to_record(point(512, 12.5)));
}

TEST_CASE("without --resume an existing file is not read") {
  const TemporaryFile file("fresh");
  std::ofstream(file.path) << "rubbish";
  MeasurementLog log = log_of_h200(file, false);
  CHECK(log.points().empty());
}

TEST_CASE("points of another GPU or another tool are not mixed with these") {
  const TemporaryFile file("other");
  MeasurementLog first = log_of_h200(file, false);
  first.add(point(512, 12.5));
  first.finish("complete");
  CHECK_THROWS_WITH(MeasurementLog(tool, to_file(file, true), "NVIDIA L4"),
                    match::ContainsSubstring("NVIDIA H200"));
  Tool other = tool;
  other.name = "calibrate_other";
  CHECK_THROWS_AS(MeasurementLog(other, to_file(file, true), "NVIDIA H200"), UserError);
}

TEST_CASE("resuming before anything was measured begins anew") {
  const TemporaryFile file("none");
  CHECK(log_of_h200(file, true).points().empty());
}

TEST_CASE("a file is valid while a run is still adding to it") {
  const TemporaryFile file("running");
  MeasurementLog log = log_of_h200(file, false);
  log.add(point(1, 1));
  const ParsedFile parsed = parse_measurement(log.text("running"), "x");
  CHECK(parsed.points.size() == 1);
  CHECK(std::get<std::string>(*find(parsed.top, "status")) == "running");
}

TEST_CASE("a time that cannot be is our mistake") {
  const TemporaryFile file("nan");
  MeasurementLog log = log_of_h200(file, false);
  CHECK_THROWS_AS(log.add(point(1, std::nan(""))), std::logic_error);
  CHECK_THROWS_AS(log.add(point(1, 0)), std::logic_error);
  CHECK_THROWS_AS(log.add(point(1, std::numeric_limits<double>::infinity())), std::logic_error);
}

TEST_CASE("a point whose shape has a name of the format's own is our mistake") {
  const TemporaryFile file("twice");
  MeasurementLog log = log_of_h200(file, false);
  Point product = point(1, 1);
  product.shape.push_back(field("n", 64));
  CHECK_NOTHROW(log.add(product));
  product.shape.push_back(field("samples", 64));
  CHECK_THROWS_AS(log.add(product), std::logic_error);
}

TEST_CASE("a folder that is not there is the user's error") {
  Options options;
  options.output = "/nonexistent/x.json";
  MeasurementLog log(tool, options, "NVIDIA H200");
  CHECK_THROWS_WITH(log.finish("complete"), match::ContainsSubstring("/nonexistent/x.json"));
}

TEST_CASE("unknown nested values are walked over") {
  const ParsedFile parsed = parse_measurement(
      R"({"schema": 1, "extra": [1, [2, {"a": null}]], "machine": {"gpu": "x", "deep": {"b": [1]}},
          "points": [{"op": "gemm", "samples": [1, 2], "ok": true, "us": 2.5e-1, "no": null}]})",
      "x");
  REQUIRE(parsed.points.size() == 1);
  CHECK(parsed.points[0] == Record{field("op", "gemm"), field("ok", true), field("us", 0.25)});
  CHECK(parsed.sections.at(0).second == Record{field("gpu", "x")});
}

TEST_CASE("files that are no measurement are refused with the line") {
  CHECK_THROWS_WITH(parse_measurement("{\n\"a\": ,\n", "f.json"),
                    match::StartsWith("f.json:2: expected a value"));
  const std::string deep = "{\"a\": " + std::string(100000, '[');
  for (const std::string& wrong : {std::string(),
                                   std::string("[]"),
                                   std::string("{"),
                                   std::string("{\"a\": 1"),
                                   std::string("{\"a\": 1}x"),
                                   std::string("{\"a\": nan}"),
                                   std::string("{\"a\": 1e999}"),
                                   std::string("{\"a\": \"\\u12\"}"),
                                   std::string("{\"a\": \"\\q\"}"),
                                   std::string("{\"a\": \"x"),
                                   std::string("{\"points\": [1]}"),
                                   std::string("{a: 1}"),
                                   std::string(1000, '\0'),
                                   deep}) {
    CHECK_THROWS_AS(parse_measurement(wrong, "f"), UserError);
  }
}

}  // namespace stepsight::calibrate
