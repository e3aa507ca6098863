#include "common/real.h"

#include <fmt/format.h>

#include <charconv>

namespace afore::cli {

CLI::Option* add_real(CLI::App& app, const std::string& flags, std::optional<double>& value, const std::string& help,
                      double max) {
  auto check = [max](std::string& text) -> std::string {
    double parsed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (error == std::errc() && end == text.data() + text.size() && parsed > 0 && parsed <= max) return "";
    return fmt::format("\"{}\" is not a number above 0 and at most {:.0f}", text, max);
  };
  return app.add_option(flags, value, help)->type_name("X")->check(CLI::Validator(check, ""));
}

}  // namespace afore::cli
