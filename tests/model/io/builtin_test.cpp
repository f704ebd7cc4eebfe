#include "model/io/builtin.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "model/errors.h"
#include "model/io/builtin_table.h"
#include "tests/catch2.h"

using namespace stepsight;
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& text) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// A folder of its own as working directory, and $STEPSIGHT_DATA beside it; undone at the end.
class Workplace {
 public:
  Workplace() : before_(fs::current_path()) {
    std::string pattern = (fs::temp_directory_path() / "stepsight-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
    fs::create_directory(folder_ / "here");
    fs::current_path(folder_ / "here");
    setenv("STEPSIGHT_DATA", own_data().c_str(), 1);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    unsetenv("STEPSIGHT_DATA");
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

  fs::path own_data() const { return folder_ / "own"; }

 private:
  fs::path before_;
  fs::path folder_;
};

std::string message_of(std::string_view folder, std::string_view name) {
  try {
    find_named_file(folder, name, ".toml");
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("every data file of the source tree is built in, byte for byte", "[builtin]") {
  const fs::path scenarios = fs::path(STEPSIGHT_SOURCE_DIR) / "scenarios";
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(scenarios)) {
    const fs::path extension = entry.path().extension();
    if (extension != ".toml" && extension != ".csv") continue;
    const std::string path = fs::relative(entry.path(), scenarios).generic_string();
    INFO(path);
    const auto text = builtin_file(path);
    REQUIRE(text);
    CHECK((*text == text_of(entry.path())));
    ++files;
  }
  CHECK(files > 0);
  CHECK(files == builtin_table().size());
}

TEST_CASE("built-in names of a folder are sorted and lead back to their files", "[builtin]") {
  const auto names = builtin_names("models");
  REQUIRE_FALSE(names.empty());
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const auto name : names) {
    CHECK(builtin_file("models/" + std::string(name) + ".toml"));
  }
  CHECK(builtin_names("no-such-folder").empty());
}

TEST_CASE("a path that is not built in is not found", "[builtin]") {
  CHECK_FALSE(builtin_file(""));
  CHECK_FALSE(builtin_file("models"));
  CHECK_FALSE(builtin_file("models/gpt2-124m.tom"));
  CHECK_FALSE(builtin_file("models/gpt2-124m.toml2"));
}

TEST_CASE("a file of the same name takes the place of the built-in one", "[builtin]") {
  const Workplace place;
  const std::string name(builtin_names("models").front());
  const std::string file = "models/" + name + ".toml";
  CHECK(find_named_file("models", name, ".toml").path == "built-in:" + file);
  CHECK(find_named_file("models", name, ".toml").text == *builtin_file(file));

  write("scenarios/" + file, "from the working directory");
  CHECK(find_named_file("models", name, ".toml").text == "from the working directory");
  write(place.own_data() / file, "from STEPSIGHT_DATA");
  CHECK(find_named_file("models", name, ".toml").text == "from STEPSIGHT_DATA");
  CHECK(find_named_file("models", name, ".toml").path == (place.own_data() / file).string());
  write(name, "the path itself");
  CHECK(find_named_file("models", name, ".toml").text == "the path itself");
}

TEST_CASE("a folder that happens to bear the name is no file", "[builtin]") {
  const Workplace place;
  const std::string name(builtin_names("models").front());
  fs::create_directory(name);
  CHECK(find_named_file("models", name, ".toml").path == "built-in:models/" + name + ".toml");
}

TEST_CASE("an unknown name is answered with the nearest known ones", "[builtin]") {
  const Workplace place;
  const std::string name(builtin_names("models").front());
  CHECK_THAT(message_of("models", name + "x"), match::ContainsSubstring(name));
  write("scenarios/models/my-own-model.toml", "");
  CHECK_THAT(message_of("models", "my_own_mode"), match::ContainsSubstring("my-own-model"));
  CHECK_THAT(message_of("no-such-folder", "name"), match::ContainsSubstring("`name`"));
}
