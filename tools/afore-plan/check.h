#pragma once
#include "common/cli.h"

namespace afore::plan {

// `afore-plan check`: what an engine would make of a map file.
void add_check(CLI::App& app);

}  // namespace afore::plan
