#pragma once
// What the files of the command-line room share among themselves. Tools include common/cli.h only.
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
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

// The candidate within a third of `word`'s length in edits (swaps count once), or "".
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// A hidden option that calls `then` when it is given.
void add_choice_callback(CLI::App& app, const std::string& flag, const std::vector<std::string>& choices,
                         const std::function<void(const std::string&)>& then);

// The values a choice option takes (from its type name "{a,b}"); empty for other options.
std::vector<std::string> choices_of(const CLI::Option& option);

// A completion script for one tool, for bash, zsh or fish.
std::string completion_script(const CLI::App& app, const std::string& tool, const std::string& shell);

}  // namespace afore::cli
