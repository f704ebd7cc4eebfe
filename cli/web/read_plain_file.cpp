// model/io/read_file.cpp for the page's simulator: emscripten has no zlib, and what the page puts into its
// file system is never compressed.
#include <fstream>
#include <iterator>

#include "model/errors.h"
#include "model/io/read_file.h"

namespace stepsight {

std::string read_file(const std::string& path, std::size_t max_bytes, std::string_view what) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError(path + ": cannot be read");
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (text.size() > max_bytes) {
    throw UserError(path + ": is larger than " + std::string(what) + " may be");
  }
  return text;
}

void write_file_atomically(const std::string& path, std::string_view /*text*/) {
  throw UserError(path + ": a page writes no files");
}

}  // namespace stepsight
