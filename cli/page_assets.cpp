#include "cli/page_assets.h"

#include <cstdlib>
#include <filesystem>

#include "model/io/read_file.h"

namespace stepsight {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest = 4 * megabyte;

fs::path web_folder() {
  if (const char* own = std::getenv("STEPSIGHT_WEB")) return own;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  // build/release/bin/stepsight -> build/web
  return error ? fs::path() : program.parent_path().parent_path().parent_path() / "web";
}

std::string read_if_any(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return "";
  return read_file(file.string(), largest, "a part of the report page");
}

}  // namespace

WebFiles read_web_files() {
  const fs::path folder = web_folder();
  if (folder.empty()) return {};
  return {read_if_any(folder / "charts.js"),
          read_if_any(folder / "simulator.js"),
          read_if_any(folder / "simulator.wasm.txt")};
}

}  // namespace stepsight
