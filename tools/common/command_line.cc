#include "common/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

#include "common/cli_internal.h"

namespace afore::cli {

namespace {

constexpr std::size_t kLongestValueName = 16;

// By command, for as long as the program's only command line lives.
std::unordered_map<const CLI::App*, std::vector<Example>>& all_examples() {
  static std::unordered_map<const CLI::App*, std::vector<Example>> examples;
  return examples;
}

bool shown(const CLI::Option& option) { return !option.get_group().empty(); }

std::string joined(const std::vector<std::string>& words, const char* with) {
  return fmt::format("{}", fmt::join(words, with));
}

}  // namespace

void examples(const CLI::App& app, std::vector<Example> list) { all_examples()[&app] = std::move(list); }

const std::vector<Example>& examples_of(const CLI::App& app) { return all_examples()[&app]; }

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) commands.push_back(sub);
  }
  return commands;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options()) {
    if (shown(*option) && option->nonpositional()) options.push_back(option);
  }
  return options;
}

std::vector<const CLI::Option*> arguments_of(const CLI::App& app) {
  std::vector<const CLI::Option*> arguments;
  for (const CLI::Option* option : app.get_options()) {
    if (shown(*option) && !option->nonpositional()) arguments.push_back(option);
  }
  return arguments;
}

bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0; }

std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
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

std::string value_name(const CLI::Option& option) {
  if (!takes_value(option)) return "";
  const std::string choices = joined(choices_of(option), "|");
  if (!choices.empty()) return choices.size() <= kLongestValueName ? choices : "NAME";
  std::string type = option.get_type_name();
  type = type.substr(0, type.find(':'));  // CLI11's checks add their own words
  if (type == "FLOAT" || type == "INT" || type == "UINT") return "N";
  if (!type.empty() && type != "TEXT") return type;
  return option.get_lnames().empty() ? "VALUE" : value_of_flag(option.get_lnames().front());
}

std::string option_text(const CLI::Option& option) {
  std::string text = joined(paragraphs(option.get_description()), " ");
  const std::vector<std::string> choices = choices_of(option);
  if (value_name(option) == "NAME" && !choices.empty()) text += ": " + joined(choices, ", ");
  if (option.get_required()) return text + " [required]";
  // "-" as a default says nothing that the help of a stream does not say.
  const std::string usual = option.get_default_str();
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

std::string usage_line(const CLI::App& app) {
  std::string text = full_name(app) + " [OPTIONS]";
  for (const CLI::Option* argument : arguments_of(app)) {
    const std::string name = argument->get_name() + (argument->get_expected_max() > 1 ? "..." : "");
    text += argument->get_required() ? " " + name : " [" + name + "]";
  }
  if (commands_of(app).empty()) return text;
  return text + (app.get_require_subcommand_min() > 0 ? " COMMAND" : " [COMMAND]");
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
