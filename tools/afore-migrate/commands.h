#pragma once
// The benchmark and the commands of afore-migrate. `arguments`: the whole command line, which outlives the app.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace afore::cli {

void add_bench(CLI::App& app, const std::vector<std::string>& arguments);
void add_overlap(CLI::App& app, const std::vector<std::string>& arguments);
void add_calibrate(CLI::App& app, const std::vector<std::string>& arguments);

// Flags of the benchmark have no effect on a command: says so (Error{usage}) rather than drop them.
void refuse_flags_before_command(const CLI::App& app, const std::string& command);

}  // namespace afore::cli
