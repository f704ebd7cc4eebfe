#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/read_file.h"
#include "reports/sweep_rows.h"

namespace stepsight {

namespace {

struct MergeFlags {
  std::vector<std::string> files;
  std::string output;
  bool json = false;
};

// A shard's file: where it begins and ends, without its rows.
struct Part {
  std::string path;
  std::string header;  // empty for JSON
  std::uint64_t first = 0, next = 0;
};

Part look_at(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError(path + ": cannot be read");
  Part part;
  part.path = path;
  std::string line;
  std::uint64_t number = 0;
  bool any = false;
  while (std::getline(in, line)) {
    ++number;
    const std::optional<std::uint64_t> point = point_of_row(line);
    if (number == 1 && !point) {
      part.header = line;
      if (!line.starts_with("point,")) {
        throw UserError(path +
                        ":1: expected a file of `stepsight sweep`, whose first column is point");
      }
      continue;
    }
    if (!point || (any && *point != part.next)) {
      throw UserError(fmt::format("{}:{}: expected the row of point {}", path, number, part.next));
    }
    if (in.eof()) throw UserError(fmt::format("{}:{}: the row is cut off", path, number));
    if (!any) part.first = *point;
    part.next = *point + 1;
    any = true;
  }
  if (!any) part.next = part.first;
  return part;
}

std::vector<Part> in_order(const std::vector<std::string>& files) {
  std::vector<Part> parts;
  for (const std::string& file : files) parts.push_back(look_at(file));
  std::erase_if(parts, [](const Part& p) { return p.first == p.next; });
  if (parts.empty()) throw UserError("merge: no file has a row");
  std::ranges::stable_sort(parts, {}, &Part::first);
  std::uint64_t due = 0;
  for (const Part& p : parts) {
    if (p.header != parts.front().header) {
      throw UserError(p.path + ": has other columns than " + parts.front().path);
    }
    if (p.first > due) {
      throw UserError(fmt::format("points {} to {} are in no file", due, p.first - 1));
    }
    if (p.first < due)
      throw UserError(fmt::format("{}: point {} is in another file, too", p.path, p.first));
    due = p.next;
  }
  return parts;
}

void merge_command(const MergeFlags& flags) {
  const std::vector<Part> parts = in_order(flags.files);
  const bool to_file = !is_standard_output(flags.output);
  const WriteTarget target = write_target(flags.output);
  const std::string part = target.in_place ? target.path : target.path + ".part";
  std::FILE* out = to_file ? std::fopen(part.c_str(), "wb") : stdout;
  if (out == nullptr) throw UserError(part + ": cannot be written");
  const auto write = [&](const std::string& text) {
    return std::fwrite(text.data(), 1, text.size(), out) == text.size();
  };
  bool good = parts.front().header.empty() || write(parts.front().header + "\n");
  for (const Part& p : parts) {
    std::ifstream in(p.path, std::ios::binary);
    std::string line;
    if (!p.header.empty()) std::getline(in, line);
    while (good && std::getline(in, line)) good = write(line + "\n");
  }
  if (!to_file) return;
  good = std::fclose(out) == 0 && good;
  if (!target.in_place) {
    good = good && std::rename(part.c_str(), target.path.c_str()) == 0;
    if (!good) std::remove(part.c_str());
  }
  if (!good) throw UserError(flags.output + ": cannot be written");
  const std::uint64_t points = parts.back().next;
  if (flags.json) {
    fmt::print("{{\"files\":{},\"points\":{}}}\n", parts.size(), points);
  } else {
    fmt::print("{} points of {} files\n", points, parts.size());
  }
}

}  // namespace

void add_merge_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<MergeFlags>();
  CLI::App* command = app.add_subcommand("merge", "Joins the shards of a sweep into one file");
  command->add_option("files", flags->files, "what `stepsight sweep --shard` wrote, in any order")
      ->required();
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->add_flag("--json", flags->json, help_text("say what was written as JSON"));
  command->footer(
      "Example:\n"
      "  stepsight merge part-1.csv part-2.csv -o sweep.csv");
  command->callback([flags] { merge_command(*flags); });
}

}  // namespace stepsight
