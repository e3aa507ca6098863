#pragma once
// The ways to serve a workload that advice compares, each simulated over both windows.
#include <string>
#include <vector>

#include "afore-plan/advise_input.h"

namespace afore::plan {

struct WindowSums {
  std::int64_t targets = 0, copies = 0, exposed_targets = 0;
  double ffn_ns = 0, exposed_ns = 0;  // over targets
};

struct Way {
  std::string name;    // standing, exact split, POLICY held, POLICY, ideal
  std::string policy;  // empty for the first two
  WindowSums history, evaluation;
  // Time of each block of the windows' steps, a mean over microbatches; the history's without its first block, in which
  // the pipeline fills and policies learn. Empty where a window is too short for blocks.
  std::vector<double> history_blocks_ns, evaluation_blocks_ns;
  double evaluation_ns = 0;  // all of the evaluation's steps
  double tokens_per_s = 0;   // of the evaluation
};

// The fixed ones, then "POLICY held" and POLICY for each of `policies`, then ideal. Needs both windows not empty.
//   standing     the placement of the stream (else primaries only), tokens evenly over replicas
//   exact split  the same placement, each target split exactly, no copies
//   POLICY held  the placement that POLICY had made by the end of the history, then as the exact split
//   POLICY       the policy all along
//   ideal        every expert on every worker: what no placement can pass
std::vector<Way> simulate_ways(const Workload& work, const cli::Setup& setup, const AdviseFlags& flags,
                               const std::vector<std::string>& policies);

}  // namespace afore::plan
