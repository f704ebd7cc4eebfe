// What the command line knows of itself, as plain data: the same facts that --help prints, for the
// completion scripts and the manual page.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stepsight {

struct FlagFacts {
  std::vector<std::string> names;   // "-o", "--output"
  std::string value;                // "TEXT", "INT", a file's; empty: it takes none
  std::string meaning;              // one line
  std::vector<std::string> values;  // that it may have, where they are known
};

struct CommandFacts {
  std::string name;
  std::string meaning;
  std::string footer;                  // worked examples
  std::vector<std::string> arguments;  // positional: "scenario"
  std::vector<FlagFacts> flags;
};

struct ProgramFacts {
  std::string description;
  std::string footer;
  std::vector<CommandFacts> commands;  // in the order of --help
};

// Of the program that `command` is a part of, whole.
ProgramFacts facts_of(const CLI::App& program);

}  // namespace stepsight
