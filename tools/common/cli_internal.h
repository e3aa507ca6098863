#pragma once
// What the files of the command-line room share among themselves. Tools include common/cli.h only.
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace afore::cli {

// The signal that catch_interrupts() recorded, 0 when none came.
int caught_signal();

// The first line of `text`, so that a message stays one line.
std::string one_line(const std::string& text);

struct UsageMessage {
  std::string message;
  std::string hint;
};
// What CLI11 refused, in our words, with the nearest flag or subcommand when something was misspelt.
UsageMessage usage_message(const CLI::App& app, const CLI::ParseError& error);

// "afore-trace import": the name of `app` with its parents' before it.
std::string full_name(const CLI::App& app);

// Before the guess in a message of CLI11's that has one: what follows becomes the hint.
inline constexpr std::string_view kGuess = "; did you mean ";

// What no command takes, whatever its options mean: Error{usage} for an empty value, and for files that are written
// (beside_stdout()) over one another.
void refuse_values(const CLI::App& app);

// A hidden option that calls `then` when it is given.
void add_choice_callback(CLI::App& app, const std::string& flag, const std::vector<std::string>& choices,
                         const std::function<void(const std::string&)>& then);

// The values a choice option takes (from its type name "{a,b}"); empty for other options.
std::vector<std::string> choices_of(const CLI::Option& option);

// What stands beside a command's name in a list: its description's first sentence.
std::string summary(const CLI::App& app);

// Set on the app before its commands are added: they take it over.
std::shared_ptr<CLI::FormatterBase> help_formatter();
std::string help_text(const CLI::App& app);

// One tool's page, section 1.
std::string man_page(const CLI::App& app, const std::string& tool);

// A completion script for one tool, for bash, zsh or fish.
std::string completion_script(const CLI::App& app, const std::string& tool, const std::string& shell);

}  // namespace afore::cli
