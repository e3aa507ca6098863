#include "common/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "common/cli_internal.h"
#include "common/nearest.h"

namespace afore::cli {

namespace {

std::string range_text(std::int64_t min, std::int64_t max) {
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  if (min == std::numeric_limits<std::int64_t>::min() && max == kHighest) return "a whole number";
  if (max == kHighest) return fmt::format("a whole number, at least {}", min);
  return fmt::format("a whole number from {} to {}", min, max);
}

// The whole of `text`.
template <typename Number>
bool parse(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

CLI::Validator choice_validator(const std::vector<std::string>& choices) {
  return CLI::Validator(
      [choices](std::string& text) -> std::string {
        if (std::find(choices.begin(), choices.end(), text) != choices.end()) return "";
        const std::string guess = nearest(text, choices);
        return fmt::format("\"{}\" is not one of {}{}", text, fmt::join(choices, ", "),
                           guess.empty() ? "" : fmt::format("{}{}?", kGuess, guess));
      },
      "");
}

std::string choice_type(const std::vector<std::string>& choices) {
  return fmt::format("{{{}}}", fmt::join(choices, ","));
}

std::vector<Command> wrapped(const std::vector<CLI::App*>& apps) {
  std::vector<Command> commands;
  for (CLI::App* app : apps) commands.emplace_back(app);
  return commands;
}

}  // namespace

Option Option::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option Option::under(const std::string& head) {
  option_->group(head);
  return *this;
}

Option Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::hide_default() {
  option_->default_str("");
  return *this;
}

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::within(double min, double max) {
  option_->check(CLI::Range(min, max));
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::one_value() {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::on_value(std::function<void()> then) {
  option_->each([then = std::move(then)](const std::string&) { then(); });
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

std::string Option::name() const { return option_->get_name(); }

Option Command::option(const std::string& flags, std::string& value, const std::string& help) {
  return Option(app_->add_option(flags, value, help));
}

Option Command::option(const std::string& flags, std::vector<std::string>& values, const std::string& help) {
  return Option(app_->add_option(flags, values, help));
}

Option Command::option(const std::string& flags, double& value, const std::string& help) {
  return Option(app_->add_option(flags, value, help));
}

Option Command::flag(const std::string& flags, bool& value, const std::string& help) {
  return Option(app_->add_flag(flags, value, help));
}

Option Command::flag(const std::string& flags, std::function<void()> then, const std::string& help) {
  return Option(app_->add_flag_callback(flags, std::move(then), help));
}

Option Command::integer(const std::string& flags, std::int64_t& value, const std::string& help, std::int64_t min,
                        std::int64_t max) {
  // CLI11's own checks print a range of doubles; ours says the range as whole numbers. It runs before conversion.
  auto check = [min, max](std::string& text) -> std::string {
    std::int64_t parsed = 0;
    if (parse(text, parsed) && parsed >= min && parsed <= max) return "";
    return fmt::format("\"{}\" is not {}", text, range_text(min, max));
  };
  CLI::Option* option = app_->add_option(flags, value, help)->type_name("N")->check(CLI::Validator(check, ""));
  return Option(value >= min && value <= max ? option->capture_default_str() : option);
}

Option Command::real(const std::string& flags, std::optional<double>& value, const std::string& help, double max) {
  auto check = [max](std::string& text) -> std::string {
    double parsed = 0;
    if (parse(text, parsed) && parsed > 0 && parsed <= max) return "";
    return fmt::format("\"{}\" is not a number above 0 and at most {:.0f}", text, max);
  };
  return Option(app_->add_option(flags, value, help)->type_name("X")->check(CLI::Validator(check, "")));
}

Option Command::choice(const std::string& flags, std::string& value, const std::string& help,
                       const std::vector<std::string>& choices) {
  return Option(app_->add_option(flags, value, help)
                    ->type_name(choice_type(choices))
                    ->check(choice_validator(choices))
                    ->capture_default_str());
}

Option Command::choices(const std::string& flags, std::vector<std::string>& values, const std::string& help,
                        const std::vector<std::string>& choices) {
  return Option(app_->add_option(flags, values, help)
                    ->type_name(choice_type(choices))
                    ->check(choice_validator(choices))
                    ->delimiter(',')
                    ->allow_extra_args(false));
}

void add_choice_callback(Command command, const std::string& flag, const std::vector<std::string>& choices,
                         const std::function<void(const std::string&)>& then) {
  command.get()
      ->add_option_function<std::string>(flag, then)
      ->type_name(choice_type(choices))
      ->check(choice_validator(choices))
      ->group("");  // hidden
}

Command Command::command(const std::string& name, const std::string& description) {
  return Command(app_->add_subcommand(name, description));
}

void Command::may_have_command() { app_->require_subcommand(0, 1); }

void Command::needs_command() { app_->require_subcommand(1); }

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::on_run(std::function<void()> run) { app_->final_callback(std::move(run)); }

std::string Command::name() const { return app_->get_name(); }

std::vector<Option> Command::options() const {
  std::vector<Option> options;
  for (CLI::Option* option : app_->get_options()) options.emplace_back(option);
  return options;
}

Option Command::option_named(const std::string& flag) const { return Option(app_->get_option(flag)); }

std::vector<Command> Command::commands() const {
  return wrapped(app_->get_subcommands([](CLI::App*) { return true; }));
}

std::vector<Command> Command::given_commands() const { return wrapped(app_->get_subcommands()); }

}  // namespace afore::cli
