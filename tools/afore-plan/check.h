#pragma once
#include "common/options.h"

namespace afore::plan {

// `afore-plan check`: what an engine would make of a map file.
void add_check(cli::Command app);

}  // namespace afore::plan
