// --help: usage, commands, options under their heads, examples; as wide as the terminal, 80 to 100 columns.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common/cli_internal.h"
#include "common/command_line.h"

namespace afore::cli {

namespace {

constexpr std::size_t kNarrowest = 80, kWidest = 100, kTextColumn = 30;

std::size_t width() {
  long columns = 0;
  winsize size = {};
  if (const char* given = std::getenv("COLUMNS"); given != nullptr) columns = std::strtol(given, nullptr, 10);
  else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return std::clamp(static_cast<std::size_t>(std::max(columns, 0L)), kNarrowest, kWidest);
}

// `text` from column `from` on, further lines too; the caller has written up to there.
std::string wrapped(const std::string& text, std::size_t from, std::size_t width) {
  std::string out;
  std::size_t column = from;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) {
      const std::string word = text.substr(begin, end - begin);
      if (column > from && column + 1 + word.size() > width) {
        out += "\n" + std::string(from, ' ');
        column = from;
      } else if (column > from) {
        out += ' ';
        ++column;
      }
      out += word;
      column += word.size();
    }
    begin = end + 1;
  }
  return out + "\n";
}

std::string row(const std::string& label, const std::string& text, std::size_t width) {
  std::string out = label;
  if (label.size() + 2 > kTextColumn) out += "\n" + std::string(kTextColumn, ' ');
  else out += std::string(kTextColumn - label.size(), ' ');
  return out + wrapped(text, kTextColumn, width);
}

// "  -o, --output FILE"; options without a short name stand below the long ones.
std::string label_of(const CLI::Option& option) {
  std::string label = option.get_snames().empty() ? "      " : "  ";
  bool first = true;
  for (const std::string& name : spellings(option)) {
    label += (first ? "" : ", ") + name;
    first = false;
  }
  const std::string value = value_name(option);
  return value.empty() ? label : label + " " + value;
}

std::string prose(const std::string& text, std::size_t width) {
  std::string out;
  for (const std::string& paragraph : paragraphs(text)) out += (out.empty() ? "" : "\n") + wrapped(paragraph, 0, width);
  return out;
}

std::string examples_text(const CLI::App& app) {
  std::string out;
  for (const Example& example : examples_of(app)) {
    out += fmt::format("{}  # {}\n  ", out.empty() ? "\nExamples:\n" : "\n", example.shows);
    for (const char c : std::string(example.command)) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
    out += '\n';
  }
  return out;
}

class Formatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override { return help_text(*app); }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<Formatter>(); }

std::string help_text(const CLI::App& app) {
  const std::size_t columns = width();
  std::string out = prose(app.get_description(), columns) + "\n" + wrapped("Usage: " + usage_line(app), 0, columns);
  const std::vector<const CLI::App*> commands = commands_of(app);
  if (!commands.empty()) out += "\nCommands:\n";
  for (const CLI::App* sub : commands) out += row("  " + sub->get_name(), summary(*sub), columns);
  const std::vector<const CLI::Option*> arguments = arguments_of(app);
  if (!arguments.empty()) out += "\nArguments:\n";
  for (const CLI::Option* argument : arguments)
    out += row("  " + argument->get_name(), option_text(*argument), columns);
  for (const OptionGroup& group : option_groups(app)) {
    out += "\n" + group.title + ":\n";
    for (const CLI::Option* option : group.options) out += row(label_of(*option), option_text(*option), columns);
  }
  if (!app.get_footer().empty()) out += "\n" + prose(app.get_footer(), columns);
  out += examples_text(app);
  if (!commands.empty())
    out += fmt::format("\n\"{} COMMAND --help\" tells more, \"man {}\" everything.\n", full_name(app), full_name(app));
  return out;
}

// The first sentence: what fits beside a name.
std::string summary(const CLI::App& app) {
  const std::vector<std::string> parts = paragraphs(app.get_description());
  if (parts.empty()) return "";
  const std::string& text = parts.front();
  const std::size_t end = text.find(". ");
  std::string sentence = text.substr(0, end == std::string::npos ? text.size() : end);
  if (!sentence.empty() && sentence.back() == '.') sentence.pop_back();
  return sentence;
}

}  // namespace afore::cli
