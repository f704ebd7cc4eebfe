#include "model/io/model_error_file.h"

#include <fmt/format.h>

#include "model/io/builtin.h"
#include "model/io/error_list.h"
#include "model/io/table.h"
#include "model/io/value.h"

namespace stepsight {

namespace {

constexpr double widest = 10;  // of a logarithm: a factor of 22,000

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

ModelError read_model_error() {
  const NamedFile file = find_named_file("errors", "model_error", ".toml");
  return read_model_error_text(file.path, file.text);
}

ModelError read_model_error_text(const std::string& path, const std::string& text) {
  const Value root = parse_toml(path, text);
  ErrorList errors(path);
  Table table(root, errors);
  ModelError out;
  table.require_int("schema", 1, 1);
  out.rows = static_cast<std::size_t>(table.require_int("rows", 0, 1000000000));
  out.groups = static_cast<std::size_t>(table.require_int("groups", 0, 1000000000));
  out.held_out_coverage = table.require_number("held_out_coverage", 0, 1);
  out.sources = table.strings("sources");
  out.low = table.require_number("low", -widest, 0);
  out.high = table.require_number("high", 0, widest);
  Table sd = table.sub_table("sd");
  for (const ErrorTermInfo& term : error_terms) {
    out.sd[static_cast<std::size_t>(term.term)] = sd.require_number(term.name, 0, widest);
  }
  sd.finish();
  Table ratio = table.sub_table("ratio");
  out.ratio_sd = ratio.require_number("sd", 0, widest);
  out.ratio_low = ratio.require_number("low", -widest, 0);
  out.ratio_high = ratio.require_number("high", 0, widest);
  ratio.finish();
  table.finish();
  errors.throw_if_any();
  return out;
}

std::string model_error_text(const ModelError& error) {
  std::string out =
      "# Written by `stepsight fit --model-error`: how far measured runs were from predictions "
      "that had\n"
      "# every parameter from elsewhere, by what a prediction says of itself "
      "(model/model_error.h).\n"
      "schema = 1\n";
  out += fmt::format("rows = {}\ngroups = {}\n", error.rows, error.groups);
  out += fmt::format(
      "held_out_coverage = {:.4f}  # of 90 % intervals, each group's learnt on the others\n",
      error.held_out_coverage);
  out += "sources = [\n";
  for (const std::string& source : error.sources) out += "  " + quoted(source) + ",\n";
  out += fmt::format("]\nlow = {:.4f}\nhigh = {:.4f}\n\n[sd]\n", error.low, error.high);
  for (const ErrorTermInfo& term : error_terms) {
    out += fmt::format("{} = {:.4f}  # {}\n",
                       term.name,
                       error.sd[static_cast<std::size_t>(term.term)],
                       term.meaning);
  }
  return out + fmt::format("\n[ratio]\nsd = {:.4f}\nlow = {:.4f}\nhigh = {:.4f}\n",
                           error.ratio_sd,
                           error.ratio_low,
                           error.ratio_high);
}

}  // namespace stepsight
