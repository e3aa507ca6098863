#pragma once
#include "common/options.h"

namespace afore::plan {

// `afore-plan export`: the maps at a stream's end as another system's file.
void add_export(cli::Command app);

}  // namespace afore::plan
