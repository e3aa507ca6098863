#pragma once
// Will moving expert replicas help? The rule that turns measured gains into one of three answers; docs/advice.md has it
// for people. Gains are of simulated throughput, of a policy with copies over an exact split without any.
#include <cstdint>
#include <optional>
#include <string>

#include "advice/interval.h"
#include "advice/shift.h"

namespace afore::advice {

enum class Verdict { migrate, do_nothing, not_enough_evidence };
const char* to_string(Verdict verdict);  // "migrate", "do nothing", "not enough evidence"

// Steps each window needs: five blocks of two.
inline constexpr std::int64_t kMinSteps = 10;
// Blocks of a window of `steps`: two steps at least in each, ten blocks at most. 0 below kMinSteps.
int blocks_of(std::int64_t steps);

struct Evidence {
  std::int64_t history_steps = 0, evaluation_steps = 0;
  std::optional<Interval> history, evaluation;  // absent where a window is too short
  Shift shift;
  double min_gain = 0.01;    // a gain worth the trouble
  std::int64_t copies = -1;  // made in both windows together; negative: not known
};

struct Judgement {
  Verdict verdict = Verdict::not_enough_evidence;
  std::string reason;  // one sentence
};

// On the evaluation window:
//   not enough evidence: it, or the history, is too short; or the interval covers both "no gain" and "a gain worth it"
//     (low <= 0 and high > min_gain);
//   migrate: gain >= min_gain and low > 0;
//   do nothing: the rest.
// Where the workload shifted between the windows and the history by itself says the opposite of the evaluation, the
// answer is not enough evidence: each is a measurement of another workload, and which one comes next is not known.
Judgement judge(const Evidence& evidence);

}  // namespace afore::advice
