#pragma once
// Policies beside each other, every number relative to the first one's.
#include <optional>
#include <string>
#include <vector>

#include "report/canvas.h"
#include "report/table.h"

namespace afore::report {

struct PolicyMetric {
  std::string name;  // with its unit
  bool more_is_better = true;
  std::vector<std::optional<double>> values;  // by policy
  int decimals = 0;                           // as the table of the same numbers prints them
};

struct PolicyComparison {
  std::vector<std::string> policies;  // at least one; the first is the base
  std::vector<PolicyMetric> metrics;
};

// A group of bars per metric, from 0 to value / the first policy's; metrics that the first policy lacks, or has as 0,
// are left out.
Canvas policy_bars(const PolicyComparison& comparison, const std::string& subtitle);
Table policy_figures(const PolicyComparison& comparison);  // a row per policy

}  // namespace afore::report
