// Every sweep in calibrate/measurements/imported: each imports whole, with the ranks that its index
// says, or is refused with a reason that is written down here.
#include <filesystem>
#include <map>

#include "model/io/csv.h"
#include "model/io/measurement_files.h"
#include "model/io/read_file.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

const std::string folder = STEPSIGHT_SOURCE_DIR "/calibrate/measurements/imported/nccl/";

struct Indexed {
  std::int64_t gpus = 0;
  std::size_t points = 0;
};

std::map<std::string, Indexed> read_index() {
  const std::string text = read_file(folder + "INDEX.csv", megabyte, "an index");
  CsvTable table("INDEX.csv", text);
  const std::size_t file = table.column("file");
  const std::size_t gpus = table.column("gpus");
  const std::size_t points = table.column("points");
  table.check_columns();
  std::map<std::string, Indexed> out;
  while (table.next()) {
    out[std::string(table.text(file))] = {
        table.integer(gpus, 2, 100000), static_cast<std::size_t>(table.integer(points, 1, 100000))};
  }
  table.finish();
  return out;
}

}  // namespace

TEST_CASE("all 174 public sweeps import, each with its ranks and every one of its points") {
  const std::map<std::string, Indexed> index = read_index();
  std::size_t files = 0;
  std::size_t points = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "INDEX.csv") continue;
    INFO(name);
    ++files;
    REQUIRE(index.contains(name));
    Measurements m;
    read_measurements(entry.path().string(), m);
    CHECK(m.collectives.size() == index.at(name).points);
    CHECK(m.skipped.empty());
    for (const CollectivePoint& p : m.collectives) {
      if (p.ranks != index.at(name).gpus) FAIL("ranks " << p.ranks);
    }
    points += m.collectives.size();
  }
  CHECK(files == index.size());
  CHECK(files == 174);
  CHECK(points > 6000);
}
