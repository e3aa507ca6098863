#include "advice/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace afore::advice {
namespace {

Verdict read(const Interval& interval, double min_gain) {
  if (interval.low <= 0 && interval.high > min_gain) return Verdict::not_enough_evidence;
  return interval.gain >= min_gain && interval.low > 0 ? Verdict::migrate : Verdict::do_nothing;
}

std::string describe(const Interval& i) {
  return fmt::format("copies change throughput by {:+.2f} % (interval {:+.2f} to {:+.2f} %, better in {} of {} blocks)",
                     i.gain * 100, i.low * 100, i.high * 100, i.better, i.blocks);
}

Judgement too_short(const Evidence& e) {
  const bool history = e.history_steps < kMinSteps;
  const std::int64_t steps = history ? e.history_steps : e.evaluation_steps;
  return {Verdict::not_enough_evidence,
          fmt::format("{} {} of {}, where an interval needs {}", steps, steps == 1 ? "step" : "steps",
                      history ? "history" : "evaluation", kMinSteps)};
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::migrate: return "migrate";
    case Verdict::do_nothing: return "do nothing";
    case Verdict::not_enough_evidence: return "not enough evidence";
  }
  return "?";
}

int blocks_of(std::int64_t steps) {
  return steps < kMinSteps ? 0 : static_cast<int>(std::min<std::int64_t>(10, steps / 2));
}

Judgement judge(const Evidence& e) {
  if (!e.history || !e.evaluation) return too_short(e);
  const Interval& found = *e.evaluation;
  const Verdict verdict = read(found, e.min_gain), before = read(*e.history, e.min_gain);
  if (e.copies == 0 && verdict == Verdict::do_nothing) return {verdict, "no copies were made"};
  const std::string fact = describe(found);
  if (verdict == Verdict::not_enough_evidence)
    return {verdict,
            fmt::format("{}: both no gain and more than the {:.2f} % asked are possible", fact, e.min_gain * 100)};
  if (e.shift.shifted && before != Verdict::not_enough_evidence && before != verdict)
    return {Verdict::not_enough_evidence,
            fmt::format("{}, but {:+.2f} % in the history, and the workload shifted in between: {:.0f} % of tokens "
                        "went to other experts",
                        fact, e.history->gain * 100, e.shift.between * 100)};
  if (verdict == Verdict::migrate) return {verdict, fact};
  if (found.high <= 0 || found.gain <= 0) return {verdict, fact};
  return {verdict, fmt::format("{}, and {:.2f} % is asked", fact, e.min_gain * 100)};
}

}  // namespace afore::advice
