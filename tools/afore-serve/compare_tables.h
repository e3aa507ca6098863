#pragma once
// The tables of afore-serve compare. Columns: docs/metrics.md, compare.
#include <string>
#include <vector>

#include "core/records.h"

namespace afore::serve {

// Two tables, so that each fits a terminal. `tiles`: the gain is that of the objective, in tiles; otherwise in FFN
// time. `rows` is not empty; the first is what the others are compared with.
std::string tables(const std::vector<Summary>& rows, bool tiles);

// What became of the requests, where there were any.
std::string request_table(const std::vector<Summary>& rows);

}  // namespace afore::serve
