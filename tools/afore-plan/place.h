#pragma once
#include "common/options.h"

namespace afore::plan {

// `afore-plan place`: one map per layer for a whole deployment, from a stream of demand.
void add_place(cli::Command app);

}  // namespace afore::plan
