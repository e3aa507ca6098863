#pragma once
// The page of one workload under several policies.
#include <memory>
#include <string>
#include <vector>

#include "report/run_pictures.h"

namespace afore::report {

struct PolicyRun {
  std::string policy;
  Summary summary;
  std::unique_ptr<RunData> data;  // finished
};

// `header`: of the workload; `runs`: at least one, the first is the base. Numbers are those of the summaries.
std::string policy_page(const Header& header, const std::vector<PolicyRun>& runs, const ViewOptions& options);

}  // namespace afore::report
