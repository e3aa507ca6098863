#pragma once
// The subcommand that re-checks a planned stream.
#include <CLI/CLI.hpp>

namespace afore::plan {

// Registers `verify [FILE]` on `app`; its work hangs on the subcommand's final callback.
void add_verify(CLI::App& app);

}  // namespace afore::plan
