// Where a command's text goes.
#pragma once
#include <cstdio>
#include <string>

#include "model/errors.h"
#include "model/io/read_file.h"

namespace stepsight {

// What follows -o, or nothing: "-" is standard output, too.
inline bool is_standard_output(const std::string& file) {
  return file.empty() || file == "-";
}

// To the file, whole or not at all, or to standard output.
inline void write_output(const std::string& file, const std::string& text) {
  if (is_standard_output(file)) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    write_file_atomically(file, text);
  }
}

// NAME of a profile's two files, NAME.toml and NAME.points.csv.
inline std::string profile_stem(const std::string& file) {
  if (file == "-") throw UserError("-o -: a profile is two files; give it a name");
  return file.ends_with(".toml") ? file.substr(0, file.size() - 5) : file;
}

}  // namespace stepsight
