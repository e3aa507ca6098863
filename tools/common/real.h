#pragma once
// Options that are real numbers.
#include <optional>
#include <string>

#include "common/cli.h"

namespace afore::cli {

// A number above 0 and at most `max`; nothing when not given.
CLI::Option* add_real(CLI::App& app, const std::string& flags, std::optional<double>& value, const std::string& help,
                      double max);

}  // namespace afore::cli
