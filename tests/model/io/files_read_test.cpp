#include "model/io/files_read.h"

#include <filesystem>
#include <fstream>

#include "model/io/builtin.h"
#include "model/io/profile_file.h"
#include "model/io/read_file.h"
#include "tests/catch2.h"

using namespace stepsight;

TEST_CASE("what is read is collected by the path that leads to it") {
  const std::string own =
      (std::filesystem::temp_directory_path() / "stepsight-files-read.txt").string();
  std::ofstream(own) << "mine";
  const FilesRead files;
  read_file(own, megabyte, "a test");
  const GpuProfile gpu = read_profile("t4");
  std::filesystem::remove(own);
  REQUIRE(files.by_path().contains(own));
  CHECK(files.by_path().at(own) == "mine");
  // A profile is two files; a name that was only looked for is none.
  REQUIRE(files.by_path().contains("scenarios/profiles/t4.toml"));
  CHECK(files.by_path().contains("scenarios/profiles/t4.points.csv"));
  CHECK(files.by_path().at("scenarios/profiles/t4.toml") == builtin_file("profiles/t4.toml"));
  CHECK(files.by_path().size() == 3);
}

TEST_CASE("a list of known names reads nothing") {
  const FilesRead files;
  CHECK(known_names("profiles", ".toml").size() > 5);
  CHECK(files.by_path().empty());
}

TEST_CASE("nothing is collected before or after") {
  read_profile("t4");
  { const FilesRead short_lived; }
  read_profile("t4");
  const FilesRead files;
  CHECK(files.by_path().empty());
  CHECK_THROWS_AS(FilesRead(), std::logic_error);
}
