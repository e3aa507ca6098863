// What a plan says its copies cost and gain, and what a run says it saw.
#include <algorithm>

#include "verify/state.h"

namespace afore::verify {
namespace {

// A copy is as slow as the slower of its two ends.
Nanos copy_time(const Facts& facts, const Copy& copy) {
  const Nanos usual = facts.planner.cost.copy_ns;
  const std::int64_t slowness = std::max(facts.copy_slowness[copy.from], facts.copy_slowness[copy.to]);
  return usual / 1000 * slowness + divide_up(usual % 1000 * slowness, 1000);
}

// One port out of and one into each worker: a copy starts when both of its ports are free, in list order.
// `awaited`: when the last of those ends that bring an expert to a worker which computes it for this target.
Nanos schedule_copies(const Facts& facts, const Plan& plan, Nanos& awaited) {
  awaited = 0;
  Counts out(facts.workers, 0), in(facts.workers, 0);
  Nanos last = 0;
  for (const Copy& copy : plan.copies) {
    const Nanos end = std::max(out[copy.from], in[copy.to]) + copy_time(facts, copy);
    out[copy.from] = end;
    in[copy.to] = end;
    last = std::max(last, end);
    for (const TileShare& share : plan.assignment)
      if (share.expert == copy.expert && share.worker == copy.to) awaited = last;
  }
  return last;
}

// With a backlog, what counts is when the last worker is done.
void check_completion(const Facts& facts, const Plan& plan) {
  if (plan.backlog_ns.empty()) return;
  Counts tiles(facts.workers, 0), activated(facts.workers, 0);
  for (const TileShare& share : plan.assignment) {
    tiles[share.worker] += share.tiles;
    activated[share.worker] += 1;
  }
  Nanos completion = 0;
  for (int w = 0; w < facts.workers; ++w)
    if (activated[w] > 0)
      completion = std::max(completion, plan.backlog_ns[w] + worker_ns(facts, w, tiles[w], activated[w]));
  if (plan.completion_ns != completion)
    violate(plan.target, "completion_ns is {}, expected {}", plan.completion_ns, completion);
}

}  // namespace

bool from_guess(const Plan& plan) { return plan.demand_source != "prefetch"; }

bool may_lose(const Facts& facts) {
  const std::string& policy = facts.planner.policy;
  return policy != "static" && policy != "afore" && policy != "joined" && policy != "ideal";
}

bool keeps_off(const Facts& facts) {
  const std::string& policy = facts.planner.policy;
  for (const char* name : {"afore", "joined", "paper", "split", "director", "annealing"})
    if (policy == name) return true;
  return false;
}

void check_timing(const Facts& facts, const Plan& plan) {
  Nanos awaited = 0;
  const Nanos migration = schedule_copies(facts, plan, awaited);
  if (plan.migration_ns != migration)
    violate(plan.target, "migration_ns is {}, expected {} for {} copies", plan.migration_ns, migration,
            plan.copies.size());
  if (plan.window_ns < 0) violate(plan.target, "window_ns is {}, negative", plan.window_ns);
  const Nanos exposed = std::max<Nanos>(0, awaited - plan.window_ns);
  // A policy that re-homes in the background lets nobody wait for its copies.
  if (plan.exposed_ns != exposed && !(plan.rehomes && plan.exposed_ns == 0))
    violate(plan.target, "exposed_ns is {}, expected {} (awaited copies take {} in a window of {})", plan.exposed_ns,
            exposed, awaited, plan.window_ns);
  if (plan.rehomes || from_guess(plan)) return;
  const Nanos saved = plan.objective == Objective::time
                          ? plan.ffn_ns_before - plan.ffn_ns
                          : facts.planner.cost.c1_ns * (plan.max_tile_load_before - plan.max_tile_load);
  if (plan.gain_ns != saved - exposed)
    violate(plan.target, "gain_ns is {}, expected {} (saves {}, exposes {})", plan.gain_ns, saved - exposed, saved,
            exposed);
  const Nanos most = plan.objective == Objective::time
                         ? plan.ffn_ns_before - plan.ffn_bound_ns
                         : facts.planner.cost.c1_ns * (plan.max_tile_load_before - plan.lower_bound);
  if (plan.gain_bound_ns != kAbsent && plan.gain_bound_ns != most)
    violate(plan.target, "gain_bound_ns is {}, expected {}", plan.gain_bound_ns, most);
  check_completion(facts, plan);
  // Copies that no part of this target waits for are for later ones.
  if (facts.planner.gain_rule && !may_lose(facts) && awaited > 0 && plan.gain_ns <= 0)
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
