#pragma once
// A command line as its help, man page and completions read it. Internal to tools/common.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/cli.h"

namespace afore::cli {

std::vector<const CLI::App*> commands_of(const CLI::App& app);      // that are shown
std::vector<const CLI::Option*> options_of(const CLI::App& app);    // with a flag, that are shown
std::vector<const CLI::Option*> arguments_of(const CLI::App& app);  // without one
const std::vector<Example>& examples_of(const CLI::App& app);

bool takes_value(const CLI::Option& option);
std::vector<std::string> spellings(const CLI::Option& option);  // "-o", "--output"
std::string value_name(const CLI::Option& option);              // "N", "FILE", "on|off"; "" for a flag
// Its help with what may follow: choices that are too long to be a value name, the default, that it is required.
std::string option_text(const CLI::Option& option);

// One name per kind of option in all tools, so that the same flag stands under the same head everywhere.
struct OptionGroup {
  std::string title;
  std::vector<const CLI::Option*> options;
};
std::vector<OptionGroup> option_groups(const CLI::App& app);

// Descriptions are written with line ends where the source wants them: those are spaces. Empty lines part paragraphs.
std::vector<std::string> paragraphs(const std::string& text);
std::string usage_line(const CLI::App& app);  // "afore-trace stat [OPTIONS] [FILE]"

// One line an exit code, as {"0", "done"}: shared by all pages.
std::vector<std::pair<std::string, std::string>> exit_statuses();

}  // namespace afore::cli
