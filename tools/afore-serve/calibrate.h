#pragma once
// afore-serve calibrate: a cost file from a run that was recorded with its timeline.
#include "common/options.h"

namespace afore::serve {

void add_calibrate(cli::Command app);

}  // namespace afore::serve
