// What to tell a person whose command line does not parse.
#pragma once
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace stepsight {

// One or two lines: what is wrong, the nearest flag or subcommand if one is near, and where the
// help is. `app` is the top application, after its parse() threw `error`.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace stepsight
