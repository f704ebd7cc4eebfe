// Models, profiles, links and scenarios that the program carries within itself, and how a file of
// the same name takes their place. Paths are those below scenarios/: "models/gpt2-124m.toml".
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepsight {

// The text of a built-in file; it lives as long as the program.
std::optional<std::string_view> builtin_file(std::string_view path);

// Names of the built-in files directly in `folder` ("models"; "" for the scenarios themselves),
// without folder and extension, in alphabetical order.
std::vector<std::string_view> builtin_names(std::string_view folder);

struct NamedFile {
  std::string path;  // for messages; a built-in file is "built-in:models/gpt2-124m.toml"
  std::string text;
};

// The file that a person means by `name` ("gpt2-124m") among files of one folder and extension
// ("models", ".toml"). The first of these that exists:
//   1. `name` itself, as a path to a file
//   2. $STEPSIGHT_DATA/<folder>/<name><extension>
//   3. ./scenarios/<folder>/<name><extension>
//   4. the built-in file
// Throws UserError that lists the nearest known names, or says why a file cannot be read (larger
// than 64 MB, no permission).
NamedFile find_named_file(std::string_view folder,
                          std::string_view name,
                          std::string_view extension);

// The same, but nothing where no such file exists.
std::optional<NamedFile> find_named_file_if_any(std::string_view folder,
                                                std::string_view name,
                                                std::string_view extension);

// Every name that find_named_file() knows in a folder, built in or on disk, in alphabetical order.
std::vector<std::string> known_names(std::string_view folder, std::string_view extension);

}  // namespace stepsight
