// CLI11's refusals, in the tools' words.
#include <fmt/format.h>

#include <algorithm>

#include "common/cli_internal.h"
#include "common/command_line.h"

namespace afore::cli {

namespace {

const CLI::App& selected(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// "afore-trace import", and those below: the commands that have `flag`.
void find_owners(const CLI::App& app, const std::string& flag, std::vector<const CLI::App*>& owners) {
  const CLI::Option* option = app.get_option_no_throw(flag);
  if (option != nullptr && !option->get_group().empty()) owners.push_back(&app);
  for (const CLI::App* sub : commands_of(app)) find_owners(*sub, flag, owners);
}

std::string listed(const std::vector<const CLI::App*>& owners) {
  constexpr std::size_t kMost = 4;
  std::string text = full_name(*owners.front());
  for (std::size_t i = 1; i < owners.size(); ++i) {
    const bool last = i + 1 == owners.size();
    if (i == kMost && !last) return text + " and others";
    text +=
        (last ? " and " : ", ") + (owners[i]->get_parent() == nullptr ? full_name(*owners[i]) : owners[i]->get_name());
  }
  return text;
}

// A flag that is somebody else's, or "": "--steps belongs to afore-trace import, synth and record".
std::string other_owner(const CLI::App& app, const CLI::App& at, const std::string& flag) {
  std::vector<const CLI::App*> owners;
  find_owners(app, flag, owners);
  if (owners.empty()) return "";
  if (std::find(owners.begin(), owners.end(), &at) != owners.end())
    return fmt::format("put {} behind {}", flag, full_name(at));
  return fmt::format("{} belongs to {}", flag, listed(owners));
}

UsageMessage unexpected_argument(const CLI::App& app, const CLI::App& at, const std::string& argument,
                                 const std::string& help_hint) {
  const bool is_flag = argument.size() > 1 && argument[0] == '-';
  const std::string word = argument.substr(0, argument.find('='));
  std::string message =
      is_flag ? fmt::format("unknown option \"{}\"", word) : fmt::format("unexpected argument \"{}\"", argument);
  if (is_flag) {
    if (const std::string owner = other_owner(app, at, word); !owner.empty())
      return {message, fmt::format("{}; {}", owner, help_hint)};
  }
  return {std::move(message), guess_at(word, is_flag ? flags_of(at) : subcommands_of(at)) + help_hint};
}

}  // namespace

std::string one_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string guess_at(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string guess = nearest(word, candidates);
  return guess.empty() ? guess : fmt::format("did you mean {}? ", guess);
}

UsageMessage usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = selected(app);
  const std::string help_hint = fmt::format("run \"{} --help\"", full_name(at));
  // A misspelt word is also why something required is missing, and it is the more useful news.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::vector<std::string> extras = app.remaining(true);
    if (!extras.empty()) return unexpected_argument(app, at, extras.front(), help_hint);
  }
  std::string message = one_line(error.what());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && message.find("required") != std::string::npos) {
    const std::string flag = message.substr(0, message.find(':'));
    // "--record: At Most 1 required but received 2"
    const bool repeated = message.find("At Most") != std::string::npos;
    message = repeated ? fmt::format("{} was given {} times", flag, message.substr(message.rfind(' ') + 1))
                       : flag + " needs a value";
  }
  if (message == "A subcommand is required") message = "a command is needed";
  // "--level: "onn" is not one of on, off; did you mean on?": the guess is a hint.
  if (const auto guess = message.find(kGuess); guess != std::string::npos)
    return {message.substr(0, guess),
            fmt::format("did you mean {} {}", message.substr(guess + kGuess.size()), help_hint)};
  return {message, help_hint};
}

}  // namespace afore::cli
