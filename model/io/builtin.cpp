#include "model/io/builtin.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "model/errors.h"
#include "model/io/builtin_table.h"
#include "model/io/files_read.h"
#include "model/io/read_file.h"
#include "model/nearest.h"

namespace stepsight {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file = 64 * megabyte;

// Anything but a folder may be read: a pipe (`<(...)`) is as good as a file.
bool readable_thing(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return !error && fs::exists(status) && !fs::is_directory(status);
}

NamedFile read(const fs::path& path) {
  return {path.string(), read_file(path.string(), largest_file, "a data file")};
}

std::string file_path(std::string_view folder, std::string_view name, std::string_view extension) {
  std::string path(folder);
  if (!path.empty()) path += '/';
  return path.append(name).append(extension);
}

// Where files of this kind may lie, in the order in which they are looked for.
std::vector<fs::path> data_folders() {
  std::vector<fs::path> folders;
  const char* own = std::getenv("STEPSIGHT_DATA");
  if (own != nullptr && *own != '\0') folders.emplace_back(own);
  folders.emplace_back("scenarios");
  return folders;
}

std::optional<std::string_view> find_builtin(std::string_view path) {
  const auto table = builtin_table();
  const auto row = std::lower_bound(
      table.begin(), table.end(), path, [](const BuiltinRow& r, std::string_view p) {
        return r.path < p;
      });
  if (row == table.end() || row->path != path) return std::nullopt;
  return std::string_view(row->begin, static_cast<std::size_t>(row->end - row->begin));
}

void add_names_on_disk(const fs::path& folder,
                       std::string_view extension,
                       std::vector<std::string>& names) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == extension) names.push_back(it->path().stem().string());
  }
}

[[noreturn]] void fail_unknown(std::string_view folder,
                               std::string_view name,
                               std::string_view extension) {
  constexpr std::size_t suggestions = 4;
  const std::vector<std::string> names = known_names(folder, extension);
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string where = file_path(folder, name, extension);
  std::string message =
      "no file `" + std::string(name) + "` and nothing built in as `" + where + "`";
  if (views.empty()) throw UserError(message);
  message += "\n  nearest known names:";
  for (const std::string_view candidate : nearest_names(name, views, suggestions)) {
    message.append(" ").append(candidate);
  }
  throw UserError(message);
}

}  // namespace

std::optional<std::string_view> builtin_file(std::string_view path) {
  const auto text = find_builtin(path);
  if (text) FilesRead::note_builtin(path, *text);
  return text;
}

std::vector<std::string_view> builtin_names(std::string_view folder) {
  std::vector<std::string_view> names;
  for (const BuiltinRow& row : builtin_table()) {
    const std::size_t slash = row.path.rfind('/');
    const bool top = slash == std::string_view::npos;
    if ((top ? std::string_view{} : row.path.substr(0, slash)) != folder) continue;
    const std::string_view file = top ? row.path : row.path.substr(slash + 1);
    names.push_back(file.substr(0, file.rfind('.')));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> known_names(std::string_view folder, std::string_view extension) {
  std::vector<std::string> names;
  for (const std::string_view name : builtin_names(folder)) {
    if (find_builtin(file_path(folder, name, extension))) names.emplace_back(name);
  }
  for (const fs::path& data : data_folders()) add_names_on_disk(data / folder, extension, names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<NamedFile> find_named_file_if_any(std::string_view folder,
                                                std::string_view name,
                                                std::string_view extension) {
  if (readable_thing(fs::path(name))) return read(fs::path(name));
  const std::string path = file_path(folder, name, extension);
  for (const fs::path& data : data_folders()) {
    if (readable_thing(data / path)) return read(data / path);
  }
  if (const auto text = builtin_file(path))
    return NamedFile{"built-in:" + path, std::string(*text)};
  return std::nullopt;
}

NamedFile find_named_file(std::string_view folder,
                          std::string_view name,
                          std::string_view extension) {
  if (auto file = find_named_file_if_any(folder, name, extension)) return *std::move(file);
  fail_unknown(folder, name, extension);
}

}  // namespace stepsight
