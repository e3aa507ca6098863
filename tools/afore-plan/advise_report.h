#pragma once
// What advice was found, for people and for machines (docs/advice.md).
#include <string>
#include <vector>

#include "advice/verdict.h"
#include "afore-plan/advise_input.h"
#include "afore-plan/advise_ways.h"

namespace afore::plan {

// The advice on one policy. Gains are of throughput over the standing way, `split + placement + copies` is the
// policy's; what is judged is the policy over the exact split.
struct PolicyAdvice {
  std::string policy;
  advice::Evidence evidence;
  advice::Judgement judgement;
  double split = 0, placement = 0, copies = 0;
  // The history's stall over the time that a step of the evaluation saves: steps after which it is paid back, at most
  // (stalls of several microbatches overlap). Absent where nothing is saved.
  std::optional<double> payback_steps;
  std::size_t held_way = 0, policy_way = 0;  // indices into ways
};

struct Advice {
  advice::Judgement judgement;  // of all policies together
  std::string policy;           // whose it is; empty where no way could be simulated
  double confidence = 0.95;     // of each policy's interval
  advice::Shift shift;
  std::vector<Way> ways;  // empty where a window is
  std::vector<PolicyAdvice> policies;
};

std::string advice_text(const Advice& advice, const Workload& work, const cli::Setup& setup);
std::string advice_json(const Advice& advice, const Workload& work, const cli::Setup& setup);  // one line, LF

}  // namespace afore::plan
