#pragma once
// The subcommand that re-checks a planned stream.
#include "common/options.h"

namespace afore::plan {

// Registers `verify [FILE]` on `app`; its work hangs on the subcommand's final callback.
void add_verify(cli::Command app);

}  // namespace afore::plan
