#pragma once
// What the files of the command-line room share among themselves; tools include common/cli.h.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/options.h"

namespace CLI {
class ParseError;
}  // namespace CLI

namespace afore::cli {

// The first line of `text`, so that a message stays one line.
std::string one_line(const std::string& text);

struct UsageMessage {
  std::string message;
  std::string hint;
};
// What CLI11 refused, in our words, with the nearest flag or command when something was misspelt.
UsageMessage usage_message(Command app, const CLI::ParseError& error);

// Before the guess in a message of CLI11's that has one: what follows becomes the hint.
inline constexpr std::string_view kGuess = "; did you mean ";

// What no command takes, whatever its options mean: Error{usage} for an empty value, and for files that are written
// (Option::beside_stdout()) over one another.
void refuse_values(Command command);

// A hidden option that calls `then` when it is given.
void add_choice_callback(Command command, const std::string& flag, const std::vector<std::string>& choices,
                         const std::function<void(const std::string&)>& then);

std::string help_text(Command command);

// One tool's page, section 1.
std::string man_page(Command app, const std::string& tool);

// A completion script for one tool, for bash, zsh or fish.
std::string completion_script(Command app, const std::string& tool, const std::string& shell);

}  // namespace afore::cli
