#pragma once
#include "common/cli.h"

namespace afore::plan {

// `afore-plan place`: one map per layer for a whole deployment, from a stream of demand.
void add_place(CLI::App& app);

}  // namespace afore::plan
