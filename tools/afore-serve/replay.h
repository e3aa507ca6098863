#pragma once
// afore-serve replay and compare: a workload through the AFD pipeline on the simulator host.
#include <optional>
#include <string>
#include <vector>

#include "common/planning.h"

namespace afore::serve {

// Serving the requests of a stream; all ignored by streams of targets, and refused there when given.
struct RequestFlags {
  std::int64_t max_num_seqs = 256, max_num_batched_tokens = 2048, max_queue = 1024;
  std::int64_t kv_budget_tokens = kAbsent;
  std::optional<double> max_queue_ms, timeout_s, duration_s;
  std::vector<std::string> goodput;
  std::string given;  // the first of these flags on the command line, for messages
};

struct ServeFlags {
  cli::PlanningFlags planning;
  RequestFlags requests;
  std::string input = "-";
  std::string recover = "tail";
  std::string host = "sim";
  std::string only;    // emit just records of this kind
  std::string report;  // a page of pictures, empty: none
  bool ignore_plans = false;
  bool timeline = false;
  bool allow_drop = false;
  std::int64_t kv_tokens = 1024;
  std::string faults;  // empty: none
  std::int64_t fault_seed = 0;
  std::string topology = "afd", dispatch = "routed";
  std::string links = "own", copy_chunk = "1M";
  std::string policies = "static,eplb,afore,ideal";  // compare
  std::string format = "table";                      // compare: table or json
  std::string summaries;                             // compare: FILE for the summary records
};

void replay(const ServeFlags& flags);
void compare(const ServeFlags& flags);

}  // namespace afore::serve
