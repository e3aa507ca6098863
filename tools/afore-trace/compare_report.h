#pragma once
// What afore-trace compare prints.
#include <string>
#include <vector>

#include "compare_runs.h"

namespace afore::cli {

// --max-mape: the metric that differs most of those asked for.
struct Gate {
  double limit_percent = 0;
  std::vector<std::string> metrics;
  std::vector<std::string> missing;     // of these: no number in both
  std::string worst;                    // empty when all are missing
  std::optional<double> worst_percent;  // nullopt: A is 0 and B is not, worse than any number
  bool exceeded = false;
};

std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison, const std::optional<Gate>& gate);  // one line

}  // namespace afore::cli
