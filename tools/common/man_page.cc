// Manual pages of section 1, in man(7) macros, from the command line's own description.
#include <fmt/format.h>

#include <cctype>
#include <vector>

#include "common/cli_internal.h"
#include "common/command_line.h"

namespace afore::cli {

namespace {

constexpr const char* kDate = "2026-11-30";  // of the pages' last change in form

std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
  }
  return out;
}

// Text lines: none may start with a control character, which only a dot could be here.
std::string line(const std::string& text) {
  const std::string escaped = roff(text);
  return (!escaped.empty() && escaped[0] == '.' ? "\\&" + escaped : escaped) + "\n";
}

std::string lower_first(std::string text) {
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string prose(const std::string& text) {
  std::string out;
  for (const std::string& paragraph : paragraphs(text)) out += (out.empty() ? "" : ".PP\n") + line(paragraph);
  return out;
}

std::string entry(const std::string& label, const std::string& text) { return ".TP\n" + label + "\n" + line(text); }

std::string option_label(Option option) {
  std::string label;
  for (const std::string& name : spellings(option)) label += (label.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  const std::string value = value_name(option);
  return value.empty() ? label : label + " \\fI" + roff(value) + "\\fR";
}

std::string arguments(Command command) {
  std::string out;
  for (const Option argument : arguments_of(command))
    out += entry("\\fI" + roff(argument.name()) + "\\fR", option_text(argument));
  return out;
}

std::string options(Command command, const char* head) {
  std::string out;
  for (const OptionGroup& group : option_groups(command)) {
    out += fmt::format(fmt::runtime(head), roff(group.title));
    for (const Option option : group.options) out += entry(option_label(option), option_text(option));
  }
  return out;
}

std::string examples(Command command) {
  std::string out;
  for (const Example& example : examples_of(command)) {
    out += out.empty() ? "" : ".PP\n";
    out += line(std::string(example.shows) + ":") + ".PP\n.RS 4\n.nf\n";
    std::string text;
    for (const char c : std::string(example.command) + "\n") {
      if (c != '\n') {
        text += c;
        continue;
      }
      out += line(text);
      text.clear();
    }
    out += ".fi\n.RE\n";
  }
  return out;
}

std::string command_section(Command command) {
  std::string out =
      ".SS " + roff(command.name()) + "\n.B " + roff(usage_line(command)) + "\n.PP\n" + prose(description_of(command));
  out += arguments(command) + options(command, ".PP\n\\fI{}\\fR\n");
  if (!footer_of(command).empty()) out += ".PP\n" + prose(footer_of(command));
  const std::string shown = examples(command);
  return shown.empty() ? out : out + ".PP\n\\fIExamples\\fR\n.PP\n" + shown;
}

std::string environment() {
  return entry("\\fBAFORE_DATA\\fR",
               "The folder of the bundled model and prompts, models/tiny and data/workloads below it, instead of those "
               "that came with the program.") +
         entry("\\fBNO_COLOR\\fR", "Set and not empty: messages are never coloured.") +
         entry("\\fBCLICOLOR_FORCE\\fR",
               "Set, not empty and not 0: labels of messages are coloured also where standard error is no terminal. "
               "NO_COLOR goes first.") +
         entry("\\fBCOLUMNS\\fR", "The width of --help, from 80 to 100; else that of the terminal.") +
         entry("\\fBLC_ALL\\fR, \\fBLC_CTYPE\\fR, \\fBLANG\\fR",
               "Bars in tables are drawn with block characters where the first of these that is set names UTF-8.");
}

std::string files() {
  return "Beside the folder of the program, or in the source tree it was built from:\n" +
         entry("\\fI" + roff("share/afore/models/tiny") + "\\fR", "The bundled model, in Hugging Face's form.") +
         entry("\\fI" + roff("share/afore/data/workloads") + "\\fR", "The bundled prompts, JSON lines.") +
         entry("\\fI" + roff("share/afore/data/tiny-routing") + "\\fR",
               "Recorded routing of a small model, to try import with.");
}

std::string see_also(const std::string& tool) {
  std::string out = ".BR afore (1)";
  for (const char* other : {"afore-migrate", "afore-plan", "afore-serve", "afore-trace"}) {
    if (tool != other) out += fmt::format(",\n.BR {} (1)", roff(other));
  }
  return out + ",\n.BR afore\\-records (5)\n";
}

}  // namespace

std::string man_page(Command app, const std::string& tool) {
  std::string upper = tool;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string out = fmt::format(".\\\" Made by {} --print-man; edit the tool, not this page.\n", tool);
  out += fmt::format(".TH {} 1 {} \"afore {}\" \"AFORE manual\"\n", roff(upper), kDate, AFORE_VERSION);
  out += fmt::format(".SH NAME\n{} \\- {}", roff(tool), line(lower_first(summary(app))));
  out += ".SH SYNOPSIS\n.nf\n";
  const std::vector<Command> commands = commands_of(app);
  if (!command_is_required(app)) out += line(usage_line(app));
  for (const Command sub : commands) out += line(usage_line(sub));
  out += ".fi\n.SH DESCRIPTION\n" + prose(description_of(app));
  out += ".PP\nData goes to standard output and words to standard error.\n\\- as a file is standard input or output.\n";
  if (!footer_of(app).empty()) out += ".PP\n" + prose(footer_of(app));
  if (!commands.empty()) out += ".SH COMMANDS\n";
  for (const Command sub : commands) out += command_section(sub);
  out += ".SH OPTIONS\n" + arguments(app) + options(app, ".SS {}\n");
  if (const std::string shown = examples(app); !shown.empty()) out += ".SH EXAMPLES\n" + shown;
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_statuses()) out += entry("\\fB" + code + "\\fR", meaning);
  out += ".SH ENVIRONMENT\n" + environment() + ".SH FILES\n" + files() + ".SH SEE ALSO\n" + see_also(tool);
  return out;
}

}  // namespace afore::cli
