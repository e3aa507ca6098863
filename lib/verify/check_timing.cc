// What a plan says its copies cost and gain, and what a run says it saw.
#include <algorithm>

#include "verify/state.h"

namespace afore::verify {
namespace {

// One port out of and one into each worker: a copy starts when both of its ports are free, in list order.
Nanos schedule_copies(const Facts& facts, const Plan& plan) {
  Counts out(facts.workers, 0), in(facts.workers, 0);
  Nanos last = 0;
  for (const Copy& copy : plan.copies) {
    const Nanos end = std::max(out[copy.from], in[copy.to]) + facts.planner.cost.copy_ns;
    out[copy.from] = end;
    in[copy.to] = end;
    last = std::max(last, end);
  }
  return last;
}

}  // namespace

bool from_guess(const Plan& plan) { return plan.demand_source != "prefetch"; }

bool may_lose(const Facts& facts) {
  const std::string& policy = facts.planner.policy;
  return policy != "static" && policy != "afore" && policy != "ideal";
}

void check_timing(const Facts& facts, const Plan& plan) {
  const Nanos migration = schedule_copies(facts, plan);
  if (plan.migration_ns != migration)
    violate(plan.target, "migration_ns is {}, expected {} for {} copies", plan.migration_ns, migration,
            plan.copies.size());
  if (plan.window_ns < 0) violate(plan.target, "window_ns is {}, negative", plan.window_ns);
  const Nanos exposed = std::max<Nanos>(0, migration - plan.window_ns);
  // A policy that re-homes in the background lets nobody wait for its copies.
  if (plan.exposed_ns != exposed && !(plan.rehomes && plan.exposed_ns == 0))
    violate(plan.target, "exposed_ns is {}, expected {} (migration_ns {} in a window of {})", plan.exposed_ns, exposed,
            migration, plan.window_ns);
  if (plan.rehomes || from_guess(plan)) return;
  const Nanos saved = plan.objective == Objective::time
                          ? plan.ffn_ns_before - plan.ffn_ns
                          : facts.planner.cost.c1_ns * (plan.max_tile_load_before - plan.max_tile_load);
  if (plan.gain_ns != saved - exposed)
    violate(plan.target, "gain_ns is {}, expected {} (saves {}, exposes {})", plan.gain_ns, saved - exposed, saved,
            exposed);
  if (facts.planner.gain_rule && !may_lose(facts) && !plan.copies.empty() && plan.gain_ns <= 0)
    violate(plan.target, "{} copies are installed for a gain of {} ns", plan.copies.size(), plan.gain_ns);
}

void check_observed(const Observed& observed) {
  if (observed.slot_wait_ns != 0) return;  // a copy that waited for its slot is not described by these two numbers
  const Nanos over = observed.migration_ns - observed.window_ns;
  const Nanos exposed = observed.migration_ns == 0 ? 0 : std::max<Nanos>(0, over);
  if (observed.exposed_ns != exposed)
    violate(observed.target, "observed exposed_ns is {}, expected {} (migration_ns {} in a window of {})",
            observed.exposed_ns, exposed, observed.migration_ns, observed.window_ns);
  const Nanos slack = std::max<Nanos>(0, -over);
  if (observed.slack_ns != slack)
    violate(observed.target, "observed slack_ns is {}, expected {} (migration_ns {} in a window of {})",
            observed.slack_ns, slack, observed.migration_ns, observed.window_ns);
}

}  // namespace afore::verify
