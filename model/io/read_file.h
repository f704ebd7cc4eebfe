// Whole files in and out: bounded reading (gzip undone on the way) and replacing a file in one
// step.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace stepsight {

inline constexpr std::size_t megabyte = 1000 * 1000;

// The bytes of `path`; a gzip file (known by its first two bytes) is returned decompressed.
// Throws UserError when the file cannot be read, is a directory, is damaged gzip, or holds more
// than `max_bytes` after decompression (so a small archive cannot fill the memory). `what` names
// the kind of file in that message ("a scenario").
std::string read_file(const std::string& path, std::size_t max_bytes, std::string_view what);

// Where output to `path` belongs. A symbolic link stands for the file that it names, and what is no
// regular file (a pipe, /dev/null, a terminal) is written to as it is: a rename would put a file in
// its place, for everybody who uses it.
struct WriteTarget {
  std::string path;       // behind symbolic links, also where the file itself is still to come
  bool in_place = false;  // cannot be replaced by a rename
};
WriteTarget write_target(const std::string& path);

// Replaces `path` by `text` or leaves it as it was: writes a temporary file in the same folder,
// then renames it; what is no regular file is written to (write_target). Throws UserError with the
// system's reason.
void write_file_atomically(const std::string& path, std::string_view text);

}  // namespace stepsight
