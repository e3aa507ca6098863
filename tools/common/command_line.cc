#include "common/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <unordered_map>

#include "common/parse.h"

namespace afore::cli {

namespace {

constexpr std::size_t kLongestValueName = 16;

// By command, for as long as the program's only command line lives.
std::unordered_map<CLI::App*, std::vector<Example>>& all_examples() {
  static std::unordered_map<CLI::App*, std::vector<Example>> examples;
  return examples;
}

std::string joined(const std::vector<std::string>& words, const char* with) {
  return fmt::format("{}", fmt::join(words, with));
}

}  // namespace

void Command::examples(std::vector<Example> list) { all_examples()[app_] = std::move(list); }

const std::vector<Example>& examples_of(Command command) { return all_examples()[command.get()]; }

std::string full_name(Command command) {
  CLI::App* parent = command.get()->get_parent();
  return parent == nullptr ? command.name() : full_name(Command(parent)) + " " + command.name();
}

std::string description_of(Command command) { return command.get()->get_description(); }

std::string footer_of(Command command) { return command.get()->get_footer(); }

bool is_tool(Command command) { return command.get()->get_parent() == nullptr; }

bool command_is_required(Command command) { return command.get()->get_require_subcommand_min() > 0; }

std::vector<Command> commands_of(Command command) {
  std::vector<Command> commands = command.commands();
  std::erase_if(commands, [](const Command& sub) { return sub.get()->get_group().empty(); });
  return commands;
}

std::vector<Option> options_of(Command command) {
  std::vector<Option> options = command.options();
  std::erase_if(options, [](const Option& option) { return !shown(option) || !option.get()->nonpositional(); });
  return options;
}

std::vector<Option> arguments_of(Command command) {
  std::vector<Option> arguments = command.options();
  std::erase_if(arguments, [](const Option& option) { return !shown(option) || option.get()->nonpositional(); });
  return arguments;
}

std::string summary(Command command) {
  const std::vector<std::string> parts = paragraphs(description_of(command));
  if (parts.empty()) return "";
  const std::string& text = parts.front();
  const std::size_t end = text.find(". ");
  std::string sentence = text.substr(0, end == std::string::npos ? text.size() : end);
  if (!sentence.empty() && sentence.back() == '.') sentence.pop_back();
  return sentence;
}

std::string description_of(Option option) { return option.get()->get_description(); }

bool shown(Option option) { return !option.get()->get_group().empty(); }

bool takes_value(Option option) { return option.get()->get_expected_max() > 0; }

std::vector<std::string> values_of(Option option) { return option.get()->results(); }

std::vector<std::string> short_names(Option option) { return option.get()->get_snames(); }

std::vector<std::string> long_names(Option option) { return option.get()->get_lnames(); }

std::vector<std::string> spellings(Option option) {
  std::vector<std::string> names;
  for (const std::string& name : short_names(option)) names.push_back("-" + name);
  for (const std::string& name : long_names(option)) names.push_back("--" + name);
  return names;
}

// From its type name "{a,b}".
std::vector<std::string> choices_of(Option option) {
  const std::string type = option.get()->get_type_name();
  const auto open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return split(type.substr(open + 1, close - open - 1), ',');
}

std::string head_of(Option option) {
  static constexpr const char* kUngrouped = "Options";  // CLI11's word for it
  const std::string& group = option.get()->get_group();
  return group == kUngrouped ? "" : group;
}

// What a value is called where its type does not say.
static const char* value_of_flag(const std::string& name) {
  static const std::unordered_map<std::string, const char*> kNames = {
      {"model", "PRESET"},    {"cost", "NAME|FILE"}, {"explain", "TARGET"}, {"policies", "LIST"},
      {"init", "FILE"},       {"output", "FILE"},    {"meta", "JSON"},      {"layers", "LIST"},
      {"routing", "FILE"},    {"phases", "LIST"},    {"faults", "LIST"},    {"summaries", "FILE"},
      {"switch", "LIST"},     {"prompt", "TEXT"},    {"stop", "TEXT"},      {"eplb-step-bytes", "SIZE"},
      {"copy-chunk", "SIZE"}, {"metrics", "LIST"},   {"name", "NAME"},      {"device", "NAME"}};
  const auto found = kNames.find(name);
  return found == kNames.end() ? "VALUE" : found->second;
}

std::string value_name(Option option) {
  if (!takes_value(option)) return "";
  const std::string choices = joined(choices_of(option), "|");
  if (!choices.empty()) return choices.size() <= kLongestValueName ? choices : "NAME";
  std::string type = option.get()->get_type_name();
  type = type.substr(0, type.find(':'));  // CLI11's checks add their own words
  if (type == "FLOAT" || type == "INT" || type == "UINT") return "N";
  if (!type.empty() && type != "TEXT") return type;
  const std::vector<std::string> names = long_names(option);
  return names.empty() ? "VALUE" : value_of_flag(names.front());
}

std::string option_text(Option option) {
  std::string text = joined(paragraphs(description_of(option)), " ");
  const std::vector<std::string> choices = choices_of(option);
  if (value_name(option) == "NAME" && !choices.empty()) text += ": " + joined(choices, ", ");
  if (option.get()->get_required()) return text + " [required]";
  // "-" as a default says nothing that the help of a stream does not say.
  const std::string usual = option.get()->get_default_str();
  return usual.empty() || usual == "-" || usual == "[]" ? text : fmt::format("{} [default: {}]", text, usual);
}

std::vector<std::string> paragraphs(const std::string& text) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') {
      parts.back() += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '\n') {
      parts.emplace_back();
      ++i;
    } else if (!parts.back().empty() && parts.back().back() != ' ') {
      parts.back() += ' ';
    }
  }
  std::erase(parts, "");
  return parts;
}

std::string usage_line(Command command) {
  std::string text = full_name(command) + " [OPTIONS]";
  for (const Option argument : arguments_of(command)) {
    const std::string name = argument.name() + (argument.get()->get_expected_max() > 1 ? "..." : "");
    text += argument.get()->get_required() ? " " + name : " [" + name + "]";
  }
  if (commands_of(command).empty()) return text;
  return text + (command_is_required(command) ? " COMMAND" : " [COMMAND]");
}

std::vector<std::pair<std::string, std::string>> exit_statuses() {
  return {{"0", "Done."},
          {"1",
           "The answer is no: a check failed, two runs differ by more than was allowed, moving experts would not pay."},
          {"2", "The command line is wrong, or does not fit the input."},
          {"3", "The input is bad data. The message names the place."},
          {"4", "Input or output failed, a peer went away, or memory ran out."},
          {"5", "A bug of ours: please report the command and its input."},
          {"129, 130, 143", "Interrupted by SIGHUP, SIGINT or SIGTERM; what is whole of the output stands."},
          {"141", "Ended by SIGPIPE: whoever read the output has seen enough, as head(1) does."}};
}

}  // namespace afore::cli
