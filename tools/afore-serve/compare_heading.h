#pragma once
// What stands above the tables of `afore-serve compare`.
#include <string>

#include "afore-serve/replay.h"
#include "common/planning.h"

namespace afore::serve {

// The cluster, its costs, and what changes every row and shows in none.
std::string compare_heading(const ServeFlags& flags, const cli::Setup& setup);

}  // namespace afore::serve
