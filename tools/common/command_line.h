#pragma once
// A command line as its help, man page, completions and refusals read it. Internal to tools/common.
#include <string>
#include <utility>
#include <vector>

#include "common/options.h"

namespace afore::cli {

std::string full_name(Command command);  // "afore-trace import"
std::string description_of(Command command);
std::string summary(Command command);  // the description's first sentence: what fits beside a name
std::string footer_of(Command command);
bool is_tool(Command command);  // and no command of one
bool command_is_required(Command command);
std::vector<Command> commands_of(Command command);  // that are shown
std::vector<Option> options_of(Command command);    // with a flag, that are shown
std::vector<Option> arguments_of(Command command);  // without one
const std::vector<Example>& examples_of(Command command);
std::string usage_line(Command command);  // "afore-trace stat [OPTIONS] [FILE]"

std::string description_of(Option option);
bool shown(Option option);
bool takes_value(Option option);
std::vector<std::string> values_of(Option option);    // that were given
std::vector<std::string> short_names(Option option);  // "o"
std::vector<std::string> long_names(Option option);   // "output"
std::vector<std::string> spellings(Option option);    // "-o", "--output"
std::vector<std::string> choices_of(Option option);   // what it takes, of a choice; empty for others
std::string value_name(Option option);                // "N", "FILE", "on|off"; "" for a flag
std::string head_of(Option option);                   // that it was declared under, or ""
// Its help with what may follow: choices that are too long to be a value name, the default, that it is required.
std::string option_text(Option option);

// One name per kind of option in all tools, so that the same flag stands under the same head everywhere.
struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};
std::vector<OptionGroup> option_groups(Command command);

// Descriptions are written with line ends where the source wants them: those are spaces. Empty lines part paragraphs.
std::vector<std::string> paragraphs(const std::string& text);

// One line an exit code, as {"0", "done"}: shared by all pages.
std::vector<std::pair<std::string, std::string>> exit_statuses();

}  // namespace afore::cli
