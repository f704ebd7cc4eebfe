// Output that a person looked at and approved, held as files beside this header.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch2.h"

namespace stepsight {

// On a mismatch the new text lies in a temporary file for comparison: approve it by copying it over
// the golden one.
inline void check_golden(const std::string& name, const std::string& text) {
  const std::string approved = std::string(STEPSIGHT_SOURCE_DIR "/tests/golden/") + name;
  std::ifstream in(approved, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (text == expected) {
    SUCCEED();
    return;
  }
  const auto folder = std::filesystem::temp_directory_path() / "stepsight-golden";
  std::filesystem::create_directories(folder);
  const std::string received = (folder / name).string();
  std::ofstream(received, std::ios::binary) << text;
  FAIL_CHECK("differs: diff " << approved << " " << received << "\n" << text);
}

}  // namespace stepsight
