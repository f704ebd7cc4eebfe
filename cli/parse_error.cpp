#include "cli/parse_error.h"

#include <optional>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "model/nearest.h"

namespace stepsight {
namespace {

// The innermost subcommand that was recognised before the parse failed.
const CLI::App& deepest(const CLI::App& app) {
  const CLI::App* current = &app;
  while (!current->get_subcommands().empty()) current = current->get_subcommands().front();
  return *current;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string unexpected(const CLI::App& command, const std::string& argument) {
  const bool is_flag = argument.starts_with("-");
  const bool names_a_command = !is_flag && command.get_parent() == nullptr;
  const std::string flag = argument.substr(0, argument.find('='));
  const std::vector<std::string> names = is_flag ? flags_of(command) : subcommands_of(command);
  std::string message = is_flag           ? "unknown option `" + flag + "`"
                        : names_a_command ? "unknown command `" + argument + "`"
                                          : "unexpected argument `" + argument + "`";
  if (const auto name = nearest(is_flag ? flag : argument, names)) {
    message += "; did you mean `" + std::string(*name) + "`?";
  }
  return message;
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = deepest(app);
  const std::vector<std::string> unknown = app.remaining(true);
  // Whichever of the two rules the parse broke first, a word that nobody knows is the cause.
  const auto is = [&](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };
  const bool stray =
      !unknown.empty() && (is(CLI::ExitCodes::ExtrasError) || is(CLI::ExitCodes::RequiredError));
  std::string message = stray ? unexpected(command, unknown.front()) : error.what();
  std::string help = app.get_name();
  if (&command != &app) help += " " + command.get_name();
  return message + "\n  see `" + help + " --help`";
}

}  // namespace stepsight
