// What was read from files, for those who carry it elsewhere: a report page takes along what its
// scenario needs.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace stepsight {

// Collects every file that this thread reads while it lives: by the path that it was read from, a
// built-in one by the path at which a file of the user's would take its place
// ("scenarios/models/gpt2-124m.toml"). One at a time.
class FilesRead {
 public:
  FilesRead();
  ~FilesRead();
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;
  FilesRead(FilesRead&&) = delete;
  FilesRead& operator=(FilesRead&&) = delete;

  [[nodiscard]] const std::map<std::string, std::string>& by_path() const { return by_path_; }

  // For those who read.
  static void note(const std::string& path, std::string_view text);
  static void note_builtin(std::string_view path, std::string_view text);

 private:
  std::map<std::string, std::string> by_path_;
};

}  // namespace stepsight
