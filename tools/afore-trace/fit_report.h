#pragma once
// What `afore-trace fit-cost` prints: coefficients and errors by group, the worst rows, where a skewed load is slower
// than an even one, and rows that look wrong.
#include <cstdint>
#include <string>
#include <vector>

#include "core/cost_model.h"
#include "fit/group_fit.h"
#include "fit/suspects.h"

namespace afore::cli {

struct FitResult {
  std::uint64_t seed = 0;
  std::size_t repeats = 0;  // rows dropped as copies of others
  std::vector<fit::GroupFit> groups;
  std::vector<fit::Fall> falls;
};

std::string fit_report(const FitResult& result);

// The built-in profile of the same chip (an a800 computes like an a100), nullptr when there is none.
const HardwareProfile* built_in_for(const std::string& device);

}  // namespace afore::cli
