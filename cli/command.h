// How the program is put together of subcommands: cli/<name>_command.cpp defines
//
//   void add_<name>_command(CLI::App& app, int& exit_code);
//
// which adds the subcommand <name> with its flags, a footer with one worked example, and a callback
// that does the work. The build finds the file by its name; nothing else has to be touched.
//
// A callback leaves `exit_code` alone when all went well, sets it to check_failed when a check that
// the user asked for failed, throws UserError for what a person can mend, and lets everything else
// pass: main() turns exceptions into messages and exit codes.
#pragma once

namespace CLI {
class App;
}

namespace stepsight {

enum ExitCode : int {
  exit_done = 0,
  exit_check_failed = 1,  // a check that the user asked for did not hold
  exit_bad_input = 2,     // a file, flag or combination that a person can mend
  exit_our_bug = 70,      // an invariant of the program is broken
};

// Adds every subcommand. Defined in a file that the build generates.
void add_commands(CLI::App& app, int& exit_code);

}  // namespace stepsight
