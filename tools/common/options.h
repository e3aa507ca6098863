#pragma once
// What a command takes: options, arguments, flags, and commands of its own. CLI11 stands behind it, in tools/common
// alone. Option and Command are handles: copies are the same thing, for as long as the command line lives.
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace afore::cli {

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  // What its help says.
  Option value_name(const std::string& name);  // "FILE"; else by its type or name
  Option under(const std::string& head);       // where the table of all tools' options has no head for it; "" hides it
  Option show_default();                       // the value that its variable has now
  Option hide_default();

  // What is refused.
  Option required();
  Option within(double min, double max);
  Option needs(Option other);
  Option excludes(Option other);
  // It names a file that is written beside what goes to standard output: "-" is refused before anything runs, and so
  // are two such options of a command that name one file.
  Option beside_stdout();

  Option one_value();  // of a list: one behind each flag, which repeats; else all words that follow are its values
  Option on_value(std::function<void()> then);  // called for each

  bool given() const;
  std::string name() const;                     // "--output", "FILE"
  CLI::Option* get() const { return option_; }  // for tools/common

 private:
  CLI::Option* option_;
};

// Shown at the end of a command's help and in its man page, in order. `command` is shell text of lines up to 80
// columns, in which LF is a line's end; tests run the examples of a page in one scratch folder, one after the other, so
// that a file is made before it is read. Both outlive the command line.
struct Example {
  const char* shows;
  const char* command;
};

class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  // `flags` are "-o,--output", or "FILE" for an argument. Values outlive the command line; what they hold is the
  // default.
  Option option(const std::string& flags, std::string& value, const std::string& help);
  Option option(const std::string& flags, std::vector<std::string>& values, const std::string& help);
  Option option(const std::string& flags, double& value, const std::string& help);
  Option flag(const std::string& flags, bool& value, const std::string& help);
  Option flag(const std::string& flags, std::function<void()> then, const std::string& help);
  // Refused with one line that says the range. A default outside it stands for "not given" and is not shown.
  Option integer(const std::string& flags, std::int64_t& value, const std::string& help, std::int64_t min = 0,
                 std::int64_t max = std::numeric_limits<std::int64_t>::max());
  // A number above 0 and at most `max`; nothing when not given.
  Option real(const std::string& flags, std::optional<double>& value, const std::string& help, double max);
  Option choice(const std::string& flags, std::string& value, const std::string& help,
                const std::vector<std::string>& choices);
  // Some of them: repeatable, and a list with commas.
  Option choices(const std::string& flags, std::vector<std::string>& values, const std::string& help,
                 const std::vector<std::string>& choices);

  Command command(const std::string& name, const std::string& description);
  void may_have_command();  // at most one
  void needs_command();     // exactly one
  void footer(const std::string& text);
  void examples(std::vector<Example> list);
  void on_run(std::function<void()> run);  // when the whole line is parsed, commands first

  std::string name() const;
  std::vector<Option> options() const;                 // arguments and hidden ones too
  Option option_named(const std::string& flag) const;  // which it has
  std::vector<Command> commands() const;
  std::vector<Command> given_commands() const;
  CLI::App* get() const { return app_; }  // for tools/common

 private:
  CLI::App* app_;
};

}  // namespace afore::cli
