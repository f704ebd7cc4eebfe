// Where a command's text goes.
#pragma once
#include <cstdio>
#include <string>

#include "model/io/read_file.h"

namespace stepsight {

// To the file, whole or not at all; to standard output when `file` is empty.
inline void write_output(const std::string& file, const std::string& text) {
  if (file.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    write_file_atomically(file, text);
  }
}

}  // namespace stepsight
