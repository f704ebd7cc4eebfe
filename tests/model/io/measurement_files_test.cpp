#include "model/io/measurement_files.h"

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "model/io/read_file.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

Measurements json(const std::string& points) {
  Measurements m;
  m.sources = {"m.json"};
  read_measurement_json("m.json", R"({"schema": 1, "points": [)" + points + "]}", 0, m);
  return m;
}

std::string json_message(const std::string& points) {
  return message_of([&] { json(points); });
}

}  // namespace

TEST_CASE("an own measurement file gives products, attention, passes, copies and collectives") {
  const Measurements m = json(
      R"({"op": "gemm", "m": 64, "n": 128, "k": 256, "dtype": "bf16", "layout": "NT", "median_us": 5.5},
         {"op": "attention_backward", "batch": 2, "heads": 8, "kv_heads": 4, "seq": 512,
          "head_dim": 64, "causal": true, "dtype": "bf16", "median_us": 40},
         {"op": "gelu", "rows": 16, "cols": 32, "dtype": "fp32", "median_us": 2},
         {"op": "h2d", "bytes": 1000000, "median_us": 30},
         {"op": "all_reduce", "ranks": 4, "bytes": 1048576, "median_us": 60},
         {"op": "copy_under_compute", "rate": 0.9})");
  REQUIRE(m.gemms.size() == 1);
  CHECK(m.gemms[0].gemm.k == 256);
  CHECK(m.gemms[0].gemm.layout == Layout::NT);
  CHECK(m.gemms[0].time_us == 5.5);
  REQUIRE(m.attentions.size() == 1);
  CHECK(m.attentions[0].attention.backward);
  CHECK(m.attentions[0].attention.kv_heads == 4);
  REQUIRE(m.passes.size() == 1);
  CHECK(m.passes[0].pass.kind == PassKind::gelu);
  CHECK(m.passes[0].pass.dtype == Dtype::fp32);
  REQUIRE(m.copies.size() == 1);
  CHECK(m.copies[0].to_device);
  REQUIRE(m.collectives.size() == 1);
  CHECK(m.collectives[0].ranks == 4);
  REQUIRE(m.overlaps.size() == 1);
  CHECK(m.skipped.empty());
}

TEST_CASE("a product says whether it ran at the card's highest clock, if somebody looked") {
  const auto clocks = [](const std::string& head) {
    Measurements m;
    m.sources = {"m.json"};
    const std::string product =
        R"({"op": "gemm", "m": 64, "n": 64, "k": 64, "dtype": "bf16", "layout": "TN", "median_us": 5)";
    read_measurement_json("m.json",
                          "{\"schema\": 1, " + head + "\"points\": [" + product + "}, " + product +
                              ", \"sm_MHz\": 1965}, " + product + ", \"sm_MHz\": 1500}]}",
                          0,
                          m);
    return std::vector<SeenClock>{m.gemms[0].clock, m.gemms[1].clock, m.gemms[2].clock};
  };
  CHECK(clocks(R"("clocks_before": {"sm_max_MHz": 1980}, )") ==
        std::vector<SeenClock>{SeenClock::unknown, SeenClock::full, SeenClock::lowered});
  CHECK(clocks("") == std::vector<SeenClock>(3, SeenClock::unknown));
}

TEST_CASE("overlap points say what ran beside what; older files leave it to the name") {
  const Measurements m = json(
      R"({"op": "collective_under_gemm", "work": "all_reduce", "work_bytes": 26214400,
          "beside": "gemm_8192", "beside_bytes": 0, "gpus": 2, "channels": 16, "median_us": 250,
          "alone_us": 100, "rate": 0.4},
         {"op": "memory_under_collective", "work": "copy", "work_bytes": 536870912,
          "beside": "all_gather", "beside_bytes": 104857600, "channels": 0, "rate": 0.75},
         {"op": "compute_under_copy", "work": "copy", "beside": "d2h", "rate": 0.98},
         {"op": "compute_under_copy", "work": "gemm_8192", "beside": "d2h", "rate": 0.99},
         {"op": "compute_under_blocks", "work": "gemm_8192", "beside": "copy_by_8_blocks", "rate": 0.9})");
  REQUIRE(m.overlaps.size() == 4);
  CHECK(m.overlaps[0].victim == OverlapWork::collective);
  CHECK(m.overlaps[0].aggressor == OverlapWork::gemm);
  CHECK(m.overlaps[0].victim_name == "all_reduce");
  CHECK(m.overlaps[0].bytes == 26214400);
  CHECK(m.overlaps[0].channels == 16);
  CHECK(m.overlaps[0].alone_us == 100);
  CHECK(m.overlaps[0].beside_us == 250);
  CHECK(m.overlaps[1].victim == OverlapWork::memory);
  CHECK(m.overlaps[1].bytes == 104857600);
  CHECK(m.overlaps[2].victim == OverlapWork::memory);
  CHECK(m.overlaps[3].victim == OverlapWork::gemm);
  REQUIRE(m.skipped.size() == 1);
  CHECK_THAT(m.skipped[0], match::ContainsSubstring("compute_under_blocks"));
  CHECK_THAT(json_message(R"({"op": "gemm_under_collective", "rate": 7})"),
             match::ContainsSubstring("rate"));
}

TEST_CASE("an operator that no part of the model uses is counted, not taken for another") {
  const Measurements m = json(R"({"op": "convolution", "rows": 3}, {"op": "convolution"})");
  REQUIRE(m.skipped.size() == 1);
  CHECK_THAT(m.skipped[0], match::ContainsSubstring("2 points of op 'convolution'"));
}

TEST_CASE("a wrong point is refused with its place") {
  const std::string gemm =
      R"({"op": "gemm", "m": 64, "n": 128, "k": 256, "dtype": "bf16", "layout": "TN", )";
  CHECK(json_message(gemm + R"("median_us": 5})") == "");
  CHECK_THAT(json_message(gemm + R"("median_us": -5})"), match::ContainsSubstring("median_us"));
  CHECK_THAT(json_message(gemm + R"("median_us": 1e400})"), match::ContainsSubstring("m.json"));
  CHECK_THAT(json_message(R"({"op": "gemm", "m": 0, "n": 1, "k": 1, "dtype": "bf16", "layout": "TN",
                              "median_us": 5})"),
             match::ContainsSubstring("'m'"));
  CHECK_THAT(json_message(R"({"m": 1})"), match::ContainsSubstring("op"));
  CHECK_THAT(
      json_message(R"({"op": "gelu", "rows": 16, "cols": 32, "dtype": "int4", "median_us": 2})"),
      match::ContainsSubstring("dtype"));
}

TEST_CASE("a table of products gives points of its formats") {
  Measurements m;
  read_gemm_table("t.csv", "dtype,k,n,m,time_us\nbfloat16,3,2,1,7.5\ne4m3,3,2,1,4\n", 3, m);
  REQUIRE(m.gemms.size() == 2);
  CHECK(m.gemms[0].gemm.m == 1);
  CHECK(m.gemms[0].gemm.n == 2);
  CHECK(m.gemms[0].gemm.k == 3);
  CHECK(m.gemms[0].gemm.dtype == Dtype::bf16);
  CHECK(m.gemms[0].source == 3);
  CHECK(m.gemms[1].gemm.dtype == Dtype::fp8);
  CHECK_THAT(message_of([&] {
               read_gemm_table("t.csv", "m,n,k,dtype,time_us\n1,2,3,int8,4\n1,2,-3,bf16,4\n", 0, m);
             }),
             match::ContainsSubstring("t.csv:2") && match::ContainsSubstring("t.csv:3"));
}

TEST_CASE("a sweep takes its ranks from its name and leaves integers out") {
  Measurements m;
  const std::string text =
      "size_bytes,op,type,time_us\n1024,all_reduce,float,20\n1024,all_reduce,int32,20\n"
      "1024,broadcast,float,20\n2048,alltoall,half,30\n";
  read_collective_sweep("sweeps/box_8gpu.csv", text, 0, m);
  REQUIRE(m.collectives.size() == 2);
  CHECK(m.collectives[0].ranks == 8);
  CHECK(m.collectives[1].kind == CollectiveKind::all_to_all);
  REQUIRE(m.skipped.size() == 1);
  CHECK_THAT(m.skipped[0], match::ContainsSubstring("2 rows"));
  CHECK_THAT(message_of([&] { read_collective_sweep("box.csv", text, 0, m); }),
             match::ContainsSubstring("number of ranks"));
}

TEST_CASE("points timed from the host count only where the host does not show") {
  // Below 0.15 ms a launch that is timed alone shows the host's issue, not the GPU.
  Measurements m;
  read_host_timed_operators(
      "o.jsonl",
      R"({"op": "sdpa_causal", "B": 1, "heads": 8, "kv": 8, "T": 64, "hd": 64, "fwd_ms": 0.05, "bwd_ms": 0.4})"
      "\n"
      R"({"op": "copy", "bytes": 100, "ms": 1})"
      "\n",
      0,
      m);
  REQUIRE(m.attentions.size() == 1);
  CHECK(m.attentions[0].attention.backward);
  CHECK(m.attentions[0].time_us == Approx(400));
  CHECK(m.skipped.size() == 1);
}

TEST_CASE("a file that is wrong leaves what was read before untouched") {
  Measurements m;
  m.sources = {"first.json"};
  CHECK_FALSE(message_of([&] { read_measurements("/no/such/file.json", m); }).empty());
  CHECK(m.sources.size() == 1);
  CHECK_THAT(message_of([&] { read_measurements(STEPSIGHT_SOURCE_DIR "/LICENSE", m); }),
             match::ContainsSubstring("expected a measurement file"));
}

// Where a folder stood on the machine that measured concerns nobody else.
TEST_CASE("no measurement names a folder of the machine that it was made on") {
  const std::regex folder(R"re("command": "[^"]* /)re");
  for (const auto& entry :
       std::filesystem::directory_iterator(STEPSIGHT_SOURCE_DIR "/calibrate/measurements")) {
    if (entry.path().extension() != ".json") continue;
    // The command stands in the head of the file.
    const std::string head =
        read_file(entry.path().string(), 100 * megabyte, "a measurement").substr(0, 4096);
    INFO(entry.path().filename().string());
    CHECK_FALSE(std::regex_search(head, folder));
  }
}
