// Shell completions written from the command line's own description, so that they cannot fall behind it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/cli_internal.h"
#include "common/command_line.h"
#include "util/error.h"

namespace afore::cli {

namespace {

std::string help_line(Option option) { return one_line(description_of(option)); }

std::string escape(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out;
}

// A word that is safe as part of a shell function's name: "afore-trace import" -> "_afore_trace_import".
std::string function_name(Command command) {
  std::string name = fmt::format("_{}", full_name(command));
  for (char& c : name) {
    if (c == '-' || c == ' ') c = '_';
  }
  return name;
}

// --- bash: three tables (which word opens a command, which option offers values, which words a command offers).

struct BashTables {
  std::string opens, values, words;
};

void bash_walk(Command command, const std::string& path, BashTables& tables) {
  std::vector<std::string> words, any_value;
  for (const Option option : options_of(command)) {
    const std::vector<std::string> names = spellings(option);
    words.insert(words.end(), names.begin(), names.end());
    if (!takes_value(option)) continue;
    const std::vector<std::string> choices = choices_of(option);
    std::vector<std::string> patterns;
    for (const std::string& name : names) patterns.push_back(fmt::format("'{}:{}'", path, name));
    if (choices.empty()) {
      any_value.insert(any_value.end(), patterns.begin(), patterns.end());
    } else {
      tables.values += fmt::format("    {}) words='{}' ;;\n", fmt::join(patterns, " | "), fmt::join(choices, " "));
    }
  }
  if (!any_value.empty()) tables.values += fmt::format("    {}) ;;\n", fmt::join(any_value, " | "));
  for (const Command sub : commands_of(command)) {
    words.push_back(sub.name());
    const std::string sub_path = path.empty() ? sub.name() : path + "/" + sub.name();
    tables.opens += fmt::format("      '{}:{}') path='{}' ;;\n", path, sub.name(), sub_path);
  }
  tables.words += fmt::format("        '{}') words='{}' ;;\n", path, fmt::join(words, " "));
  for (const Command sub : commands_of(command)) {
    bash_walk(sub, path.empty() ? sub.name() : path + "/" + sub.name(), tables);
  }
}

// Without matching words bash falls back to file names (-o default).
std::string bash_script(Command command, const std::string& tool) {
  BashTables tables;
  bash_walk(command, "", tables);
  const std::string function = function_name(command);
  std::string opens;
  if (!tables.opens.empty()) {
    opens = "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$path:$word\" in\n" + tables.opens +
            "    esac\n  done\n";
  }
  return function +
         "() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' word words=''\n"
         "  [[ $cur == '=' ]] && cur=''\n"
         "  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n" +
         opens + "  case \"$path:$prev\" in\n" + tables.values + "    *)\n      case \"$path\" in\n" + tables.words +
         "      esac ;;\n  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
         "}\n"
         "complete -o default -F " +
         function + " " + tool + "\n";
}

// --- zsh: one function a command, on _arguments.

std::string zsh_option(Option option) {
  const std::vector<std::string> names = spellings(option);
  std::string value;
  if (takes_value(option)) {
    const std::vector<std::string> choices = choices_of(option);
    value = choices.empty() ? ":value:_files" : fmt::format(":value:({})", fmt::join(choices, " "));
  }
  std::string text = help_line(option);
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
  const std::string rest = fmt::format("'[{}]{}'", escape(text, "[]:"), value);
  std::string out;
  for (const std::string& name : names) {
    const std::string equals = takes_value(option) && name.rfind("--", 0) == 0 ? "=" : "";
    out += fmt::format("    '({})'{}{}{} \\\n", fmt::join(names, " "), name, equals, rest);
  }
  return out;
}

std::string zsh_functions(Command command) {
  const std::string function = function_name(command);
  const std::vector<Command> commands = commands_of(command);
  const bool has_arguments = !arguments_of(command).empty();
  std::string nested, list, branches, options;
  for (const Option option : options_of(command)) options += zsh_option(option);
  for (const Command sub : commands) {
    nested += zsh_functions(sub);
    std::string text = summary(sub);
    for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
    list += fmt::format("    '{}:{}'\n", sub.name(), text);
    branches += fmt::format("    {}) {} ;;\n", sub.name(), function_name(sub));
  }
  if (commands.empty()) {
    const std::string rest = has_arguments ? "    '*:file:_files'\n" : "    && return\n";
    return nested + function + "() {\n  _arguments -s -S \\\n" + options + rest + "}\n";
  }
  return nested + function + "_commands() {\n  local -a commands=(\n" + list + "  )\n  _describe command commands\n" +
         (has_arguments ? "  _files\n" : "") + "}\n" + function +
         "() {\n  local curcontext=$curcontext state line\n  typeset -A opt_args\n  _arguments -C -s -S \\\n" +
         options + "    '1:command:" + function + "_commands' \\\n    '*::argument:->argument'\n" +
         "  [[ $state == argument ]] || return\n  case $line[1] in\n" + branches + "  esac\n}\n";
}

// --- fish: one line an option.

std::string fish_quote(const std::string& text) { return fmt::format("'{}'", escape(text, "\\'")); }

void fish_walk(Command command, const std::string& tool, std::string& out) {
  std::vector<std::string> names;
  for (const Command sub : commands_of(command)) names.push_back(sub.name());
  std::string here = is_tool(command) ? "" : "__fish_seen_subcommand_from " + command.name();
  if (!names.empty()) {
    here += fmt::format("{}not __fish_seen_subcommand_from {}", here.empty() ? "" : "; and ", fmt::join(names, " "));
  }
  const std::string condition = here.empty() ? "" : " -n " + fish_quote(here);
  for (const Option option : options_of(command)) {
    std::string line = "complete -c " + tool + condition;
    for (const std::string& name : short_names(option)) line += " -s " + name;
    for (const std::string& name : long_names(option)) line += " -l " + name;
    if (takes_value(option)) {
      const std::vector<std::string> choices = choices_of(option);
      line +=
          choices.empty() ? " -r" : fmt::format(" -x -a {}", fish_quote(fmt::format("{}", fmt::join(choices, " "))));
    }
    out += line + " -d " + fish_quote(help_line(option)) + "\n";
  }
  for (const Command sub : commands_of(command)) {
    out += fmt::format("complete -c {}{} -a {} -d {}\n", tool, condition, sub.name(), fish_quote(summary(sub)));
    fish_walk(sub, tool, out);
  }
}

}  // namespace

std::string completion_script(Command command, const std::string& tool, const std::string& shell) {
  if (shell == "bash") return bash_script(command, tool);
  if (shell == "zsh") return zsh_functions(command);
  AFORE_CHECK(shell == "fish", "an unknown shell passed the choice check");
  std::string out;
  fish_walk(command, tool, out);
  return out;
}

}  // namespace afore::cli
