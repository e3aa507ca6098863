// CLI11's refusals, in the tools' words.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/cli_internal.h"
#include "common/command_line.h"
#include "common/nearest.h"

namespace afore::cli {

namespace {

Command selected(Command app) {
  const std::vector<Command> given = app.given_commands();
  return given.empty() ? app : selected(given.back());
}

std::vector<std::string> flags_of(Command command) {
  std::vector<std::string> flags;
  for (const Option option : command.options()) {
    if (!shown(option)) continue;
    for (const std::string& name : long_names(option)) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name());
  return names;
}

// "afore-trace import", and those below: the commands that have `flag`.
void find_owners(Command command, const std::string& flag, std::vector<Command>& owners) {
  CLI::Option* option = command.get()->get_option_no_throw(flag);
  if (option != nullptr && shown(Option(option))) owners.push_back(command);
  for (const Command sub : commands_of(command)) find_owners(sub, flag, owners);
}

std::string listed(const std::vector<Command>& owners) {
  constexpr std::size_t kMost = 4;
  std::string text = full_name(owners.front());
  for (std::size_t i = 1; i < owners.size(); ++i) {
    const bool last = i + 1 == owners.size();
    if (i == kMost && !last) return text + " and others";
    text += (last ? " and " : ", ") + owners[i].name();
  }
  return text;
}

// A flag that is somebody else's, or "": "--steps belongs to afore-trace import, synth and record".
std::string other_owner(Command app, Command at, const std::string& flag) {
  std::vector<Command> owners;
  find_owners(app, flag, owners);
  if (owners.empty()) return "";
  const auto is_at = [&](const Command& owner) { return owner.get() == at.get(); };
  if (std::any_of(owners.begin(), owners.end(), is_at)) return fmt::format("put {} behind {}", flag, full_name(at));
  return fmt::format("{} belongs to {}", flag, listed(owners));
}

UsageMessage unexpected_argument(Command app, Command at, const std::string& argument, const std::string& help_hint) {
  const bool is_flag = argument.size() > 1 && argument[0] == '-';
  const std::string word = argument.substr(0, argument.find('='));
  std::string message =
      is_flag ? fmt::format("unknown option \"{}\"", word) : fmt::format("unexpected argument \"{}\"", argument);
  if (is_flag) {
    if (const std::string owner = other_owner(app, at, word); !owner.empty())
      return {message, fmt::format("{}; {}", owner, help_hint)};
  }
  return {std::move(message), guess_at(word, is_flag ? flags_of(at) : names_of(at.commands())) + help_hint};
}

}  // namespace

std::string one_line(const std::string& text) { return text.substr(0, text.find('\n')); }

UsageMessage usage_message(Command app, const CLI::ParseError& error) {
  const Command at = selected(app);
  const std::string help_hint = fmt::format("run \"{} --help\"", full_name(at));
  // A misspelt word is also why something required is missing, and it is the more useful news.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::vector<std::string> extras = app.get()->remaining(true);
    if (!extras.empty()) return unexpected_argument(app, at, extras.front(), help_hint);
  }
  std::string message = one_line(error.what());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && message.find("required") != std::string::npos) {
    const std::string flag = message.substr(0, message.find(':'));
    // "--record: At Most 1 required but received 2"
    const bool repeated = message.find("At Most") != std::string::npos;
    message = repeated ? fmt::format("{} was given {} times", flag, message.substr(message.rfind(' ') + 1))
                       : flag + " needs a value";
  }
  if (message == "A subcommand is required") message = "a command is needed";
  // "--level: "onn" is not one of on, off; did you mean on?": the guess is a hint.
  if (const auto guess = message.find(kGuess); guess != std::string::npos)
    return {message.substr(0, guess),
            fmt::format("did you mean {} {}", message.substr(guess + kGuess.size()), help_hint)};
  return {message, help_hint};
}

}  // namespace afore::cli
