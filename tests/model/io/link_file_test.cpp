#include "model/io/link_file.h"

#include <filesystem>

#include "model/fit/fit_collectives.h"
#include "model/io/read_file.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

std::string scratch(const std::string& name) {
  return (std::filesystem::temp_directory_path() / name).string();
}

const std::string good =
    "schema = 1\ntitle = \"a box\"\nclass = \"pcie4-x16-p2p\"\ngpus_per_node = 8\n"
    "sources = [\"a.csv\"]\n[all_reduce.2]\nlatency_us = 10\nramp_us = 5\nbusbw_GBps = 20\n"
    "sd = [1, 1, 1]\npoints = 9\nsource = \"a.csv\"\n";

std::string message_for(const std::string& text) {
  const std::string file = scratch("stepsight_link_test.toml");
  write_file_atomically(file, text);
  return message_of([&] { read_measured_link(file); });
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = good;
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a fitted link reads back as it was written") {
  Measurements m;
  m.sources = {"sweep.csv"};
  for (double bytes = 1024; bytes < 2e9; bytes *= 2) {
    // 10 us and 20 GB/s, one point 30 % off.
    const double time = 10 + bytes / 20e3;
    m.collectives.push_back(
        {CollectiveKind::all_reduce, 2, bytes, bytes == 1048576 ? 1.3 * time : time, 0});
  }
  const FittedLink fitted = fit_link(m, {"box", "a \"box\"", "pcie4-x16-p2p", 8});
  const std::string file = scratch("stepsight_link_round.toml");
  write_file_atomically(file, measured_link_text(fitted.link, fitted.records));
  write_file_atomically(scratch("stepsight_link_round.points.csv"),
                        measured_link_points_text(fitted.points));
  const auto read = read_measured_link(file);
  REQUIRE(read);
  CHECK(read->title == "a \"box\"");
  CHECK(read->gpus_per_node == 8);
  CHECK(read->sources == m.sources);
  REQUIRE(read->curves.size() == 1);
  CHECK(read->curves[0].parameters.busbw_GBps == Approx(20).epsilon(0.03));
  CHECK(cost(read->curves[0], 1_MiB).time.value ==
        Approx(1.3 * (10e-6 + 1048576 / 20e9)).epsilon(1e-4));
}

TEST_CASE("every shipped link names a class and covers it") {
  const std::vector<std::string> names = measured_link_names();
  CHECK(names.size() >= 20);
  for (const std::string& name : names) {
    INFO(name);
    const auto link = read_measured_link(name);
    REQUIRE(link);
    CHECK_FALSE(link->curves.empty());
    for (const CollectiveCurve& c : link->curves) CHECK_FALSE(c.points.empty());
  }
}

TEST_CASE("mistakes of a link file are named") {
  CHECK(message_for(good).empty());
  CHECK_THAT(message_for(with("\"pcie4-x16-p2p\"", "\"wire\"")),
             match::ContainsSubstring("name of a link class"));
  CHECK_THAT(message_for(with("all_reduce.2", "all_reduce.one")),
             match::ContainsSubstring("number of ranks"));
  CHECK_THAT(message_for(with("busbw_GBps = 20", "busbw_GBps = -20")),
             match::ContainsSubstring("busbw_GBps"));
  CHECK_THAT(message_for(with("ramp_us = 5\n", "")), match::ContainsSubstring("ramp_us"));
  CHECK_THAT(message_for(with("points", "pionts")), match::ContainsSubstring("pionts"));
}

TEST_CASE("a link is found by file, by class and with a limit of one's own") {
  CHECK(find_link("nvlink2-mesh", "")->measured);
  CHECK(find_link("pcie4-x4-nop2p", "")->link_class);
  CHECK_FALSE(find_link("wire", "")->link_class);
  const auto limited = find_link("rtx4090-p2p@11", "");
  REQUIRE(limited->link_class);
  CHECK(limited->link_class->busbw_GBps == 11);
}

TEST_CASE("a topology file gives a class its machine") {
  const std::string file = scratch("stepsight_topo.txt");
  write_file_atomically(file, "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n");
  const auto facts = find_link("pcie4-x16-nop2p", file);
  REQUIRE(facts->link_class);
  const auto curve = link_curve(*facts, {CollectiveKind::all_reduce, 2, 1});
  REQUIRE(curve);
  CHECK(curve->curve.parameters.busbw_GBps == Approx(4 * 14.06 * 0.8));
  CHECK_THAT(message_of([&] { find_link("wire", file); }),
             match::ContainsSubstring("must be a class"));
  CHECK_THAT(message_of([&] {
               link_curve(*facts, {CollectiveKind::all_reduce, 4, 1});
             }),
             match::ContainsSubstring("has 2 GPUs"));
}

TEST_CASE("sweeps without a class or without a collective make no link") {
  Measurements m;
  CHECK_THAT(message_of([&] {
               fit_link(m, {"box", "", "wire", 8});
             }),
             match::ContainsSubstring("no link class"));
  CHECK_THAT(message_of([&] {
               fit_link(m, {"box", "", "pcie4-x16-p2p", 8});
             }),
             match::ContainsSubstring("no collective"));
}
