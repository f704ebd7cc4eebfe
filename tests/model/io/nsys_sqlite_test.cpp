#include "model/io/logs/nsys_sqlite.h"

#include <filesystem>
#include <fstream>

#include "model/errors.h"
#include "tests/catch2.h"
#include "tests/model/io/toy_recording.h"

using namespace stepsight;

namespace {

StepSplit split_of(const std::string& bytes) {
  return read_nsys_split_bytes("toy.sqlite", bytes);
}

}  // namespace

TEST_CASE(
    "a recording of Nsight Systems splits its middle step into compute, communication and "
    "idleness") {
  for (const bool by_id : {false, true}) {
    CAPTURE(by_id);
    const StepSplit s = split_of(toy_recording(by_id));
    CHECK(s.step_name == "iteration 1");
    CHECK(s.step == Approx(100));
    CHECK(s.compute == Approx(60));
    CHECK(s.communication == Approx(40));
    CHECK(s.exposed == Approx(30));
    CHECK(s.idle == Approx(10));
    CHECK(s.kernels == 4);
    CHECK(s.collectives == std::vector<double>{30, 10});
  }
}

TEST_CASE("a recording in a file says what its bytes say") {
  const auto path = std::filesystem::temp_directory_path() / "stepsight_toy_recording.sqlite";
  std::ofstream(path, std::ios::binary) << toy_recording();
  CHECK(read_nsys_split(path).exposed == Approx(30));
  std::filesystem::remove(path);
}

TEST_CASE("copies count as kernels, other GPUs' kernels are left out and said") {
  ToyRecording r;
  r.run("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER)");
  r.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (50000, 70000, 0)");
  r.kernel("gemm", 0, 40);
  r.kernel("gemm", 0, 100, 1);
  const StepSplit s = split_of(r.bytes());
  CHECK(s.step_name.empty());
  CHECK(s.compute == Approx(60));
  REQUIRE(s.skipped.size() == 1);
  CHECK(s.skipped.front() == "1 kernels of other GPUs");
}

TEST_CASE("stretches that are no steps mark none") {
  CHECK(marks_a_step("step 12"));
  CHECK(marks_a_step("Iteration#7"));
  CHECK(marks_a_step("train_step"));
  CHECK(marks_a_step("ProfilerStep#3"));
  CHECK_FALSE(marks_a_step("forward"));
  CHECK_FALSE(marks_a_step("optimizer.step"));
  CHECK_FALSE(marks_a_step("step_lr(7)"));
  CHECK_FALSE(marks_a_step(""));
}

TEST_CASE("what is no recording is refused with what to do") {
  const auto refused = [](const std::string& bytes, const char* words) {
    CHECK_THROWS_WITH(split_of(bytes), match::ContainsSubstring(words));
  };
  refused(
      "this is no database, whatever its name says, and long enough for a header of one hundred "
      "bytes",
      "nsys export --type sqlite");
  refused("", "holds no kernel");
  ToyRecording empty;
  refused(empty.bytes(), "nsys profile --trace=cuda");
  ToyRecording other;
  other.run("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
  other.run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (a INTEGER)");
  refused(other.bytes(), "no such column");
  CHECK_THROWS_WITH(read_nsys_split("nowhere.sqlite"),
                    match::ContainsSubstring("nowhere.sqlite: cannot be read"));
}

TEST_CASE("a view in a table's place runs nothing") {
  ToyRecording r;
  r.run("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
  r.run(
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL "
      "SELECT "
      "start + 1 FROM n) SELECT start, start + 1 AS end, 0 AS deviceId, 1 AS shortName FROM n");
  CHECK_THROWS_AS(split_of(r.bytes()), UserError);
}

TEST_CASE("a recording cut at any byte, or with any byte changed, is read in part or refused") {
  const std::string whole = toy_recording();
  int read = 0, refused = 0;
  const auto ask = [&](const std::string& bytes) {
    try {
      const StepSplit s = split_of(bytes);
      CHECK((s.step > 0 && s.compute + s.exposed <= s.step * (1 + 1e-9)));
      ++read;
    } catch (const UserError&) {
      ++refused;
    }
  };
  for (std::size_t size = 0; size < whole.size(); size += 61) ask(whole.substr(0, size));
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    ask(changed);
  }
  CHECK(read > 100);
  CHECK(refused > 100);
}
