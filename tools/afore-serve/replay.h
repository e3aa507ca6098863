#pragma once
// afore-serve replay and compare: a workload through the AFD pipeline on the simulator host.
#include <string>
#include <vector>

#include "common/planning.h"

namespace afore::serve {

struct ServeFlags {
  cli::PlanningFlags planning;
  std::string input = "-";
  std::string recover = "tail";
  std::string host = "sim";
  std::string only;  // emit just records of this kind
  bool ignore_plans = false;
  bool timeline = false;
  bool allow_drop = false;
  std::int64_t kv_tokens = 1024;
  std::string policies = "static,eplb,afore,ideal";  // compare
  std::string format = "table";                      // compare: table or json
  std::string summaries;                             // compare: FILE for the summary records
};

void replay(const ServeFlags& flags);
void compare(const ServeFlags& flags);

}  // namespace afore::serve
