#pragma once
// Where a skewed load starts to be slower than an even one of as many tokens: below, fewer experts have work; above,
// the most loaded worker has more tiles.
#include <string>
#include <vector>

#include "fit/group_fit.h"

namespace afore::cli {

// Generation tables only (context tables measure even loads unpadded); empty without pairs of rows to compare.
std::string crossover_report(const std::vector<fit::GroupFit>& groups);

}  // namespace afore::cli
