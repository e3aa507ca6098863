#pragma once
// afore-serve calibrate: a cost file from a run that was recorded with its timeline.
#include "common/cli.h"

namespace afore::serve {

void add_calibrate(CLI::App& app);

}  // namespace afore::serve
