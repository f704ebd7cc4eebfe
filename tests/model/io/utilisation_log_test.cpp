#include "model/io/logs/utilisation_log.h"

#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

const std::string dmon_header =
    "# gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk\n"
    "# Idx     W     C     C     %     %     %     %   MHz   MHz\n";

// A line of dmon.
std::string line(int gpu, int busy, int clock) {
  return "    " + std::to_string(gpu) + "   300    60    70    " + std::to_string(busy) +
         "    55     0     0  2619  " + std::to_string(clock) + "\n";
}

UtilisationVerdict judge(const std::string& text) {
  return judge_utilisation(read_utilisation_text("dmon.txt", text)).value();
}

}  // namespace

TEST_CASE("one card that works and one that waits are told apart") {
  std::string text = dmon_header;
  for (int i = 0; i < 20; ++i) text += line(0, 95, 1900) + line(1, 30, 1900);
  const UtilisationVerdict v = judge(text);
  CHECK(v.shape == UtilisationShape::one_low);
  CHECK(v.busiest == 0);
  CHECK(v.idlest == 1);
  CHECK_THAT(describe(v), match::ContainsSubstring("GPU 1 is not (30 %)"));
}

TEST_CASE("cards that are busy all the time say nothing against the link") {
  std::string text = dmon_header;
  for (int i = 0; i < 20; ++i) text += line(0, 99, 1900) + line(1, 98, 1600);
  const UtilisationVerdict v = judge(text);
  CHECK(v.shape == UtilisationShape::all_high);
  CHECK(v.slow_clock == 1);  // 1600 MHz where the other has 1900
}

TEST_CASE("stops of all cards at once are dips, with their distance") {
  std::string text = dmon_header;
  for (int i = 0; i < 100; ++i) {
    const int busy = i % 10 == 5 ? 2 : 97;
    text += line(0, busy, 1900) + line(1, busy, 1900);
  }
  const UtilisationVerdict v = judge(text);
  CHECK(v.shape == UtilisationShape::dips);
  CHECK(v.dip_share == Approx(0.1));
  CHECK(v.dip_every == 10);
  CHECK_FALSE(v.slow_clock);
}

TEST_CASE("queries as CSV are read by the names in their header, units and all") {
  std::string text = "timestamp, index, utilization.gpu [%], power.draw [W], clocks.sm [MHz]\n";
  for (int i = 0; i < 9; ++i) {
    text += "2026/01/05 10:00:00.123, 0, 35 %, 120.10 W, 1980 MHz\n";
    text += "2026/01/05 10:00:00.123, 1, [N/A], 120.10 W, 1980 MHz\n";
  }
  const UtilisationSamples samples = read_utilisation_text("smi.csv", text);
  CHECK(samples.gpus.size() == 1);
  CHECK(samples.gpus.at(0).busy.size() == 9);
  CHECK(samples.skipped.size() == 1);
  const auto v = judge_utilisation(samples).value();
  CHECK(v.shape == UtilisationShape::all_low);
  CHECK_THAT(describe(v), match::ContainsSubstring("the host sets the pace"));
}

TEST_CASE("columns are found where dates stand in front of them") {
  const UtilisationSamples samples = read_utilisation_text(
      "dmon.txt",
      "#Date       Time        gpu    sm   mem\n#YYYYMMDD   HH:MM:SS    Idx     %     %\n"
      " 20260105   10:00:00      3    88    12\n");
  CHECK(samples.gpus.at(3).busy.front() == 88);
}

TEST_CASE("a file without a column of utilisation, or without samples, is refused") {
  CHECK_THAT(message_of([] { read_utilisation_text("x.txt", "hello\n"); }),
             match::ContainsSubstring("nvidia-smi dmon"));
  CHECK_THAT(message_of([] { read_utilisation_text("x.txt", dmon_header); }),
             match::ContainsSubstring("no sample"));
}
