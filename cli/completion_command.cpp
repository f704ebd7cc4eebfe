// Completion scripts and the manual page, both written from what --help says.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/help_facts.h"
#include "cli/output.h"
#include "cli/wrap.h"

namespace stepsight {

namespace {

std::string join(const std::vector<std::string>& list, const char* between = " ") {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "" : between) + item;
  return out;
}

// Within single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::vector<std::string> command_names(const ProgramFacts& program) {
  std::vector<std::string> out;
  for (const CommandFacts& c : program.commands) out.push_back(c.name);
  return out;
}

// The values of a flag are the same in every command that has it.
std::string value_cases(const ProgramFacts& program) {
  std::vector<std::string> seen;
  std::string out;
  for (const CommandFacts& command : program.commands) {
    for (const FlagFacts& flag : command.flags) {
      if (flag.values.empty()) continue;
      const std::string& name = flag.names.back();
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
      seen.push_back(name);
      out += "    " + name + ") values=" + quoted(join(flag.values)) + " ;;\n";
    }
  }
  return out;
}

std::string flag_cases(const ProgramFacts& program) {
  std::string out;
  for (const CommandFacts& command : program.commands) {
    std::vector<std::string> names;
    for (const FlagFacts& flag : command.flags)
      names.insert(names.end(), flag.names.begin(), flag.names.end());
    out += "    " + command.name + ") flags=" + quoted(join(names)) + " ;;\n";
  }
  return out;
}

// A list of values is completed after its last comma.
std::string bash_script(const ProgramFacts& program) {
  return "# bash completion for stepsight: source <(stepsight completion bash)\n"
         "_stepsight() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags='' "
         "values='' done=''\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W " +
         quoted(join(command_names(program)) + " --help --version") +
         " -- \"$word\")\n    return\n  fi\n"
         "  case $before in\n" +
         value_cases(program) +
         "  esac\n"
         "  if [ -n \"$values\" ]; then\n"
         "    case $word in *,*) done=${word%,*}, ;; esac\n"
         "    mapfile -t COMPREPLY < <(compgen -P \"$done\" -W \"$values\" -- \"${word##*,}\")\n"
         "    return\n  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         flag_cases(program) +
         "  esac\n"
         "  case $word in\n"
         "    -*) mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$word\") ;;\n"
         "    *) compopt -o default 2>/dev/null ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _stepsight stepsight ./stepsight\n";
}

// "[meaning]" of zsh's _arguments must not hold brackets or colons of its own.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_script(const ProgramFacts& program) {
  std::string out =
      "#compdef stepsight\n"
      "# zsh completion for stepsight: stepsight completion zsh >_stepsight, in a folder of "
      "$fpath\n"
      "_stepsight() {\n  local -a commands\n  commands=(\n";
  for (const CommandFacts& c : program.commands)
    out += "    " + quoted(c.name + ":" + zsh_text(c.meaning)) + "\n";
  out +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const CommandFacts& c : program.commands) {
    out += "    " + c.name + ")\n      _arguments \\\n";
    for (const FlagFacts& f : c.flags) {
      std::string end;
      if (!f.value.empty()) {
        end = ":" + zsh_text(f.value) + ":" +
              (f.values.empty() ? "_files" : "(" + join(f.values) + ")");
      }
      for (const std::string& name : f.names) {
        out += "        " + quoted(name + "[" + zsh_text(f.meaning) + "]" + end) + " \\\n";
      }
    }
    out += "        '*:file:_files' ;;\n";
  }
  return out +
         "  esac\n}\nif [ \"$funcstack[1]\" = _stepsight ]; then _stepsight \"$@\"; else compdef "
         "_stepsight stepsight; fi\n";
}

// Text of a manual page: a backslash is itself, a hyphen is the key's, and no line begins a
// request.
std::string roff(const std::string& text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string man_page(const ProgramFacts& program) {
  std::string out =
      ".TH STEPSIGHT 1\n.SH NAME\nstepsight \\- predicts training step time on N GPUs\n.SH "
      "SYNOPSIS\n"
      ".B stepsight\n.I command\n[arguments]\n.SH DESCRIPTION\n" +
      roff(program.description) + "\n.PP\n.nf\n" + roff(program.footer) + "\n.fi\n.SH COMMANDS\n";
  for (const CommandFacts& c : program.commands) {
    out += ".SS stepsight " + roff(c.name);
    for (const std::string& a : c.arguments) out += " [" + roff(a) + "]";
    out += "\n" + roff(c.meaning) + "\n";
    for (const FlagFacts& f : c.flags) {
      out += ".TP\n.B " + roff(join(f.names, ", ")) + (f.value.empty() ? "" : " " + roff(f.value)) +
             "\n" + roff(f.meaning) + "\n";
    }
    if (!c.footer.empty()) out += ".PP\n.nf\n" + roff(c.footer) + "\n.fi\n";
  }
  return out +
         ".SH EXIT STATUS\n0 done, 1 a check that was asked for failed, 2 bad input, 70 a bug of "
         "stepsight.\n"
         ".SH ENVIRONMENT\n.TP\n.B STEPSIGHT_DATA\na folder of models, gpus, profiles and links "
         "that come "
         "before the built\\-in ones\n.TP\n.B NO_COLOR\nno colours on a terminal\n";
}

struct CompletionFlags {
  std::string what;
  std::string output;
};

}  // namespace

void add_completion_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<CompletionFlags>();
  CLI::App* command =
      app.add_subcommand("completion", "Completion for bash or zsh, or the manual page");
  command->add_option("shell", flags->what, "bash, zsh, or man for the manual page")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "man"}));
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->footer(
      "Example:\n"
      "  source <(stepsight completion bash)\n"
      "  stepsight completion man -o stepsight.1 && man ./stepsight.1");
  command->callback([flags, &app] {
    const ProgramFacts program = facts_of(app);
    write_output(flags->output,
                 flags->what == "bash"  ? bash_script(program)
                 : flags->what == "zsh" ? zsh_script(program)
                                        : man_page(program));
  });
}

}  // namespace stepsight
