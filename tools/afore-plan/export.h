#pragma once
#include "common/cli.h"

namespace afore::plan {

// `afore-plan export`: the maps at a stream's end as another system's file.
void add_export(CLI::App& app);

}  // namespace afore::plan
