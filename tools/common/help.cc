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
        out.append("\n").append(from, ' ');
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
std::string label_of(Option option) {
  std::string label = short_names(option).empty() ? "      " : "  ";
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
  for (const std::string& paragraph : paragraphs(text))
    out.append(out.empty() ? "" : "\n").append(wrapped(paragraph, 0, width));
  return out;
}

std::string examples_text(Command command) {
  std::string out;
  for (const Example& example : examples_of(command)) {
    out += fmt::format("{}  # {}\n  ", out.empty() ? "\nExamples:\n" : "\n", example.shows);
    for (const char c : std::string(example.command)) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
    out += '\n';
  }
  return out;
}

}  // namespace

std::string help_text(Command command) {
  const std::size_t columns = width();
  std::string out =
      prose(description_of(command), columns) + "\n" + wrapped("Usage: " + usage_line(command), 0, columns);
  const std::vector<Command> commands = commands_of(command);
  if (!commands.empty()) out += "\nCommands:\n";
  for (const Command sub : commands) out += row("  " + sub.name(), summary(sub), columns);
  const std::vector<Option> arguments = arguments_of(command);
  if (!arguments.empty()) out += "\nArguments:\n";
  for (const Option argument : arguments) out += row("  " + argument.name(), option_text(argument), columns);
  for (const OptionGroup& group : option_groups(command)) {
    out += "\n" + group.title + ":\n";
    for (const Option option : group.options) out += row(label_of(option), option_text(option), columns);
  }
  if (!footer_of(command).empty()) out.append("\n").append(prose(footer_of(command), columns));
  out += examples_text(command);
  if (!commands.empty())
    out += fmt::format("\n\"{} COMMAND --help\" tells more, \"man {}\" everything.\n", full_name(command),
                       full_name(command));
  return out;
}

}  // namespace afore::cli
