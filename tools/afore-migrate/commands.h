#pragma once
// The benchmark and the commands of afore-migrate. `arguments`: the whole command line, which outlives the app.
#include <string>
#include <vector>

#include "common/options.h"

namespace afore::cli {

void add_bench(Command app, const std::vector<std::string>& arguments);
void add_overlap(Command app, const std::vector<std::string>& arguments);
void add_calibrate(Command app, const std::vector<std::string>& arguments);

// Flags of the benchmark have no effect on a command: says so (Error{usage}) rather than drop them.
void refuse_flags_before_command(Command app, const std::string& command);

}  // namespace afore::cli
