// Claims about what was reachable: the best without copies, and bounds no plan within the limits can pass.
#include <algorithm>

#include "verify/bounds.h"
#include "verify/state.h"
#include "verify/time_bounds.h"

namespace afore::verify {
namespace {

// Largest claim in [0, claim] for which `proven`, which holds below some point and nowhere above it.
template <class Proven>
std::int64_t largest_proven(std::int64_t claim, const Proven& proven) {
  std::int64_t low = 0, high = claim;  // low is proven, high is not
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (proven(middle) ? low : high) = middle;
  }
  return low;
}

void check_cut(const Facts& facts, const Plan& plan, Bounds& bounds) {
  std::vector<std::uint8_t> set(facts.workers, 0);
  for (const int worker : plan.cut) {
    if (worker < 0 || worker >= facts.workers || set[worker])
      violate(plan.target, "cut names worker {} twice or beyond {} workers", worker, facts.workers);
    set[worker] = 1;
  }
  const std::int64_t proves = bounds.cut(set);
  if (proves < plan.lower_bound)
    violate(plan.target, "cut proves a bound of {}, expected lower_bound {}", proves, plan.lower_bound);
  bounds.consider(proves);
}

void check_tile_bound(const Facts& facts, const Plan& plan, const Standing& standing) {
  if (plan.lower_bound > plan.max_tile_load)
    violate(plan.target, "lower_bound is {}, above max_tile_load {}", plan.lower_bound, plan.max_tile_load);
  std::int64_t total = 0;
  for (const std::int64_t tiles : standing.tiles) total += tiles;
  const std::int64_t volume = divide_up(total, facts.workers);
  if (plan.lower_bound < volume)
    violate(plan.target, "lower_bound is {}, expected at least {} ({} tiles on {} workers)", plan.lower_bound, volume,
            total, facts.workers);
  Bounds bounds(standing.tiles, standing.bound_holders, standing.open_slots, standing.budget);
  if (!plan.cut.empty()) check_cut(facts, plan, bounds);
  const auto proven = [&](std::int64_t claim) { return claim <= 0 || bounds.refutes(claim - 1); };
  if (!proven(plan.lower_bound))
    violate(plan.target, "lower_bound {} is not proven, expected at most {}", plan.lower_bound,
            largest_proven(plan.lower_bound, proven));
}

void check_time_bound(const Facts& facts, const Plan& plan, const Standing& standing) {
  const LayerCost& cost = facts.planner.cost;
  if (plan.ffn_bound_ns > plan.ffn_ns)
    violate(plan.target, "ffn_bound_ns is {}, above ffn_ns {}", plan.ffn_bound_ns, plan.ffn_ns);
  const TimeBounds bounds(facts, standing.tiles, standing.bound_holders, standing.open_slots, standing.budget);
  const std::int64_t total = bounds.total();
  const Nanos volume = cost.c0_ns + bounds.volume();
  if (plan.objective == Objective::time && plan.ffn_bound_ns < volume)
    violate(plan.target, "ffn_bound_ns is {}, expected at least {} ({} ns of work on {} workers)", plan.ffn_bound_ns,
            volume, total, facts.workers);
  const auto proven = [&](Nanos claim) { return bounds.refutes(claim - 1 - cost.c0_ns); };
  if (!proven(plan.ffn_bound_ns))
    violate(plan.target, "ffn_bound_ns {} is not proven, expected at most {}", plan.ffn_bound_ns,
            largest_proven(plan.ffn_bound_ns, proven));
}

void check_tiles_before(const Facts& facts, const Plan& plan, const Standing& standing) {
  const std::int64_t before = plan.max_tile_load_before;
  // Static never rebalances, whatever stands: it compares with itself.
  if (facts.planner.policy == "static" && before == plan.max_tile_load) return;
  if (!split_fits(standing.tiles, standing.holders, facts.workers, before))
    violate(plan.target, "max_tile_load_before is {}, not reachable without copies", before);
  if (split_fits(standing.tiles, standing.holders, facts.workers, before - 1))
    violate(plan.target, "max_tile_load_before is {}, but {} is reachable without copies", before, before - 1);
  if (plan.max_tile_load > before && !may_lose(facts))
    violate(plan.target, "max_tile_load is {}, above max_tile_load_before {}", plan.max_tile_load, before);
}

// The best time over standing replicas is hard to find, so the claim is only enclosed.
void check_time_before(const Facts& facts, const Plan& plan, const Standing& standing) {
  const LayerCost& cost = facts.planner.cost;
  const Nanos before = plan.ffn_ns_before;
  if (before > standing.primary_ns)
    violate(plan.target, "ffn_ns_before is {}, but everything on the primaries takes {}", before, standing.primary_ns);
  const TimeBounds bounds(facts, standing.tiles, standing.holders, standing.open_slots, 0);
  if (before < cost.c0_ns || bounds.refutes(before - cost.c0_ns))
    violate(plan.target, "ffn_ns_before is {}, less than any split over the standing replicas takes", before);
  if (!plan.backlog_ns.empty()) {
    // A levelled plan gives up time of its own, but is not done later than everything on the primaries.
    Nanos standing_still = 0;
    for (int w = 0; w < facts.workers; ++w)
      if (standing.primary_worker_ns[w] > 0)
        standing_still = std::max(standing_still, plan.backlog_ns[w] + standing.primary_worker_ns[w]);
    if (plan.completion_ns > standing_still)
      violate(plan.target, "completion_ns is {}, but everything on the primaries is done after {}", plan.completion_ns,
              standing_still);
  } else if (plan.ffn_ns > before && !may_lose(facts)) {
    violate(plan.target, "ffn_ns is {}, above ffn_ns_before {}", plan.ffn_ns, before);
  }
  if (plan.copies.empty() && !plan.is_virtual && !may_lose(facts) && plan.ffn_ns < before)
    violate(plan.target, "ffn_ns_before is {}, but the plan takes {} without copies", before, plan.ffn_ns);
}

}  // namespace

std::vector<int> not_draining(const Facts& facts, const std::vector<int>& holders) {
  std::vector<int> others;
  for (const int worker : holders)
    if (!facts.drains[worker]) others.push_back(worker);
  return others.empty() ? holders : others;
}

int stand_in(const Facts& facts, const std::vector<int>& holders, int primary) {
  const std::vector<int> others = not_draining(facts, holders);
  return facts.drains[primary] && !facts.drains[others.front()] ? others.front() : primary;
}

Standing stand(const Facts& facts, const LayerMap& layer, const Plan& plan, const Demand& demand) {
  Standing standing;
  standing.holders = layer.holders();
  // As if they were not there: their slots are closed, and bounds do not count on them.
  std::vector<std::uint8_t> unready(layer.held.size(), 0);
  for (const ReplicaAt& replica : plan.unready) {
    std::vector<int>& holders = standing.holders[replica.expert];
    const auto at = std::find(holders.begin(), holders.end(), replica.worker);
    if (at == holders.end())
      violate(plan.target, "unready names expert {} on worker {}, which does not hold it", replica.expert,
              replica.worker);
    if (replica.worker == layer.primary(replica.expert))
      violate(plan.target, "unready names expert {} on worker {}, its primary", replica.expert, replica.worker);
    holders.erase(at);
    unready[layer.at(replica.worker, layer.used_slot(replica.expert, replica.worker))] = 1;
  }
  const std::vector<std::vector<int>> all = standing.holders;
  const bool moves = facts.planner.policy != "static" && facts.planner.policy != "balanced";
  if (moves)
    for (std::vector<int>& holders : standing.holders) holders = not_draining(facts, holders);
  standing.open_slots.assign(facts.workers, 0);
  standing.tiles.resize(facts.experts);
  standing.primary_worker_ns.assign(facts.workers, 0);
  Counts tiles(facts.workers, 0), activated(facts.workers, 0);
  std::vector<std::uint8_t> is_primary(layer.held.size(), 0);
  for (int e = 0; e < facts.experts; ++e) {
    standing.tiles[e] = divide_up(demand.counts[e], facts.tile_tokens);
    const int primary = layer.primary(e);
    is_primary[layer.at(primary, layer.used_slot(e, primary))] = 1;
    const int worker = moves ? stand_in(facts, all[e], primary) : primary;
    is_primary[layer.at(worker, layer.used_slot(e, worker))] = 1;
    tiles[worker] += standing.tiles[e];
    activated[worker] += standing.tiles[e] > 0;
  }
  const LayerCost& cost = facts.planner.cost;
  for (int w = 0; w < facts.workers; ++w)
    if (activated[w] > 0) standing.primary_worker_ns[w] = worker_ns(facts, w, tiles[w], activated[w]);
  standing.primary_ns = cost.c0_ns;
  for (const Nanos ns : standing.primary_worker_ns) standing.primary_ns = std::max(standing.primary_ns, ns);

  if (plan.is_virtual) {
    std::vector<int> everyone(facts.workers);
    for (int w = 0; w < facts.workers; ++w) everyone[w] = w;
    standing.bound_holders.assign(facts.experts, everyone);
    return standing;
  }
  standing.bound_holders = standing.holders;
  for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
    const TileShare& share = plan.assignment[i];
    if (share.expert < 0 || share.expert >= facts.experts || share.worker < 0 || share.worker >= facts.workers)
      continue;  // check_assignment names it
    if (!facts.drains[share.worker] || facts.drains[not_draining(facts, all[share.expert]).front()]) continue;
    standing.outside = static_cast<int>(i);
    standing.bound_holders = all;
  }
  standing.budget = facts.planner.policy == "static" ? 0 : facts.planner.copy_budget;
  for (int w = 0; w < facts.workers; ++w)
    for (int s = 0; s < facts.slots; ++s)
      standing.open_slots[w] += !unready[layer.at(w, s)] && !layer.busy(w, s, facts.microbatches) &&
                                (plan.rehomes || (!facts.drains[w] && !is_primary[layer.at(w, s)]));
  return standing;
}

void check_before(const Facts& facts, const Plan& plan, const Standing& standing) {
  if (standing.outside >= 0 && keeps_off(facts) && !from_guess(plan)) {
    const TileShare& share = plan.assignment[standing.outside];
    violate(plan.target, "worker {} drains and has {} tiles of expert {}, which stands elsewhere", share.worker,
            share.tiles, share.expert);
  }
  if (plan.rehomes || from_guess(plan)) return;
  if (plan.objective == Objective::tiles) check_tiles_before(facts, plan, standing);
  else check_time_before(facts, plan, standing);
}

namespace {

// The program behind it is not in the stream; what the plan reached is, and no bound is above that. Of a plan made
// ahead that is what it was predicted to reach; one from a guess may work where the bound does not look.
void check_relaxation(const Plan& plan, const Standing& standing) {
  if (plan.relaxation_bound_ns == kAbsent) return;
  if (plan.policy != "director" || plan.objective != Objective::time)
    violate(plan.target, "relaxation_bound_ns is {}, expected none of policy {} by {}", plan.relaxation_bound_ns,
            plan.policy, to_string(plan.objective));
  const bool ahead = plan.demand_source == "prediction";
  if (ahead && !plan.predicted_ffn_ns)
    violate(plan.target, "relaxation_bound_ns is {}, without a predicted_ffn_ns", plan.relaxation_bound_ns);
  const Nanos reached = ahead ? *plan.predicted_ffn_ns : plan.ffn_ns;
  if (plan.relaxation_bound_ns > reached && (ahead || standing.outside < 0))
    violate(plan.target, "relaxation_bound_ns is {}, above {} {}", plan.relaxation_bound_ns,
            ahead ? "predicted_ffn_ns" : "ffn_ns", reached);
}

}  // namespace

void check_bounds(const Facts& facts, const Plan& plan, const Standing& standing) {
  if (plan.split_bound_ns != kAbsent && plan.split_bound_ns > plan.ffn_ns_before)
    violate(plan.target, "split_bound_ns is {}, above ffn_ns_before {}", plan.split_bound_ns, plan.ffn_ns_before);
  check_relaxation(plan, standing);
  check_tile_bound(facts, plan, standing);
  check_time_bound(facts, plan, standing);
  if (!plan.certified) return;
  if (plan.objective == Objective::tiles && plan.max_tile_load != plan.lower_bound)
    violate(plan.target, "certified with max_tile_load {} and lower_bound {}", plan.max_tile_load, plan.lower_bound);
  if (plan.objective == Objective::time && plan.ffn_ns != plan.ffn_bound_ns)
    violate(plan.target, "certified with ffn_ns {} and ffn_bound_ns {}", plan.ffn_ns, plan.ffn_bound_ns);
}

}  // namespace afore::verify
