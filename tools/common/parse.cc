#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "common/cli.h"
#include "common/cli_internal.h"
#include "util/error.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::cli {

namespace {

constexpr std::size_t kMaxCostFileBytes = 1u << 20;
constexpr int kMaxListValue = 1 << 20;

// The whole of `text` as a decimal integer.
bool parse_int(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string range_text(std::int64_t min, std::int64_t max) {
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  if (min == std::numeric_limits<std::int64_t>::min() && max == kHighest) return "a whole number";
  if (max == kHighest) return fmt::format("a whole number, at least {}", min);
  return fmt::format("a whole number from {} to {}", min, max);
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

}  // namespace

CLI::Option* add_int(CLI::App& app, const std::string& flags, std::int64_t& value, const std::string& help,
                     std::int64_t min, std::int64_t max) {
  // CLI11's own checks print a range of doubles; ours says the range as whole numbers. It runs before conversion.
  auto check = [min, max](std::string& text) -> std::string {
    std::int64_t parsed = 0;
    if (parse_int(text, parsed) && parsed >= min && parsed <= max) return "";
    return fmt::format("\"{}\" is not {}", text, range_text(min, max));
  };
  CLI::Option* option = app.add_option(flags, value, help)->type_name("N")->check(CLI::Validator(check, ""));
  // A value outside the range stands for "not given" and is no default to show.
  return value >= min && value <= max ? option->capture_default_str() : option;
}

CLI::Option* add_choice(CLI::App& app, const std::string& flags, std::string& value, const std::string& help,
                        const std::vector<std::string>& choices) {
  return app.add_option(flags, value, help)
      ->type_name(choice_type(choices))
      ->check(choice_validator(choices))
      ->capture_default_str();
}

CLI::Option* add_choices(CLI::App& app, const std::string& flags, std::vector<std::string>& values,
                         const std::string& help, const std::vector<std::string>& choices) {
  return app.add_option(flags, values, help)
      ->type_name(choice_type(choices))
      ->check(choice_validator(choices))
      ->delimiter(',')
      ->allow_extra_args(false);
}

void add_choice_callback(CLI::App& app, const std::string& flag, const std::vector<std::string>& choices,
                         const std::function<void(const std::string&)>& then) {
  app.add_option_function<std::string>(flag, then)
      ->type_name(choice_type(choices))
      ->check(choice_validator(choices))
      ->group("");  // hidden
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

std::int64_t parse_bytes(const std::string& text, const std::string& flag) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const std::string suffix = text.substr(digits);
  static const std::vector<std::vector<std::string>> kSuffixes = {
      {"", "B"}, {"K", "k", "KiB"}, {"M", "m", "MiB"}, {"G", "g", "GiB"}, {"T", "t", "TiB"}};
  const std::string hint = "sizes are whole numbers with B, KiB, MiB, GiB or TiB (K, M, G and T mean the same)";
  std::int64_t value = 0;
  if (!parse_int(std::string_view(text).substr(0, digits), value)) {
    throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a size", flag, text), hint);
  }
  for (std::size_t power = 0; power < kSuffixes.size(); ++power) {
    if (std::find(kSuffixes[power].begin(), kSuffixes[power].end(), suffix) == kSuffixes[power].end()) continue;
    const std::int64_t unit = std::int64_t{1} << (10 * power);
    if (value > std::numeric_limits<std::int64_t>::max() / unit) {
      throw Error(ErrorKind::usage, fmt::format("{}: the size \"{}\" is too large", flag, text), hint);
    }
    return value * unit;
  }
  throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a size: unknown suffix \"{}\"", flag, text, suffix),
              hint);
}

std::vector<int> parse_int_list(const std::string& text, const std::string& flag) {
  const std::string hint = "lists look like 3,5,10-20";
  std::set<int> values;
  for (const std::string& part : CLI::detail::split(text, ',')) {
    const auto dash = part.find('-');
    const std::string_view low_text = std::string_view(part).substr(0, dash);
    const std::string_view high_text = dash == std::string::npos ? low_text : std::string_view(part).substr(dash + 1);
    std::int64_t low = 0, high = 0;
    if (!parse_int(low_text, low) || !parse_int(high_text, high) || low < 0) {
      throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a number or a range", flag, part), hint);
    }
    if (high < low) throw Error(ErrorKind::usage, fmt::format("{}: the range \"{}\" runs backwards", flag, part), hint);
    if (high > kMaxListValue) {
      throw Error(ErrorKind::usage, fmt::format("{}: {} is over {}", flag, high, kMaxListValue), hint);
    }
    for (std::int64_t value = low; value <= high; ++value) values.insert(static_cast<int>(value));
  }
  return {values.begin(), values.end()};
}

namespace {

// "h100*40": 40 times as slow, for runs that pace themselves.
std::optional<HardwareProfile> slowed_cost(const std::string& text) {
  const std::size_t star = text.rfind('*');
  if (star == std::string::npos || star == 0 || access(text.c_str(), F_OK) == 0) return std::nullopt;
  double factor = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data() + star + 1, end, factor);
  if (error != std::errc() || read != end || !(factor >= 1e-3 && factor <= 1e6))
    throw Error(ErrorKind::usage, fmt::format("--cost: \"{}\" does not end in a factor from 0.001 to 1e6", text),
                "like --cost 'h100*40', 40 times as slow as an h100");
  const std::string machine = text.substr(0, star);
  if (machine.find('*') != std::string::npos && access(machine.c_str(), F_OK) != 0)
    throw Error(ErrorKind::usage, fmt::format("--cost: \"{}\" has more than one factor", text),
                "multiply them: one factor behind the machine, like --cost 'h100*40'");
  HardwareProfile profile = slowed(load_cost(machine), factor);
  profile.name = text;
  return profile;
}

}  // namespace

HardwareProfile load_cost(const std::string& name_or_path) {
  if (std::optional<HardwareProfile> profile = slowed_cost(name_or_path)) return *profile;
  if (const HardwareProfile* profile = find_hardware_profile(name_or_path)) return *profile;
  if (access(name_or_path.c_str(), F_OK) != 0) {
    throw Error(
        ErrorKind::usage, fmt::format("--cost: \"{}\" is neither a built-in profile nor a file", name_or_path),
        fmt::format("{}built in: {}; or a file made by afore-migrate calibrate",
                    guess_at(name_or_path, hardware_profile_names()), fmt::join(hardware_profile_names(), ", ")));
  }
  const std::vector<std::uint8_t> bytes = read_file_bytes(name_or_path, kMaxCostFileBytes);
  return wire::parse_cost_file(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                               name_or_path);
}

const ModelSpec& load_model_preset(const std::string& name, const std::string& flag) {
  if (const ModelSpec* preset = find_model_preset(name)) return *preset;
  std::vector<std::string> names;
  for (const ModelSpec& preset : model_presets()) names.push_back(preset.name);
  throw Error(ErrorKind::usage, fmt::format("{}: there is no preset \"{}\"", flag, name),
              fmt::format("{}presets: {}", guess_at(name, names), fmt::join(names, ", ")));
}

void refuse_terminal_stdin(const std::string& path, const CLI::App& app) {
  if ((path != "-" && !path.empty()) || isatty(STDIN_FILENO) == 0) return;
  throw Error(ErrorKind::usage, "no input: standard input is a terminal",
              fmt::format("pipe records in or name a file; \"{} --help\" shows how", full_name(app)));
}

}  // namespace afore::cli
