// How a target's tiles and tokens are split, and what that makes of the workers' loads.
#include <algorithm>
#include <tuple>

#include "verify/state.h"

namespace afore::verify {
namespace {

// Tokens per pair, where the policy states them.
void check_tokens(const Facts& facts, const Plan& plan, const Demand& demand) {
  if (plan.assignment_tokens.size() != plan.assignment.size())
    violate(plan.target, "assignment_tokens has {} entries, expected {} as assignment", plan.assignment_tokens.size(),
            plan.assignment.size());
  Counts sum(facts.experts, 0);
  for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
    const TileShare& tiles = plan.assignment[i];
    const TokenShare& tokens = plan.assignment_tokens[i];
    if (tokens.expert != tiles.expert || tokens.worker != tiles.worker)
      violate(plan.target, "assignment_tokens entry {} is expert {} on worker {}, expected expert {} on worker {}",
              i + 1, tokens.expert, tokens.worker, tiles.expert, tiles.worker);
    if (tokens.tokens < 1 || tokens.tokens > demand.counts[tokens.expert])
      violate(plan.target, "expert {} has {} tokens on worker {}, of {}", tokens.expert, tokens.tokens, tokens.worker,
              demand.counts[tokens.expert]);
    const std::int64_t expected = divide_up(tokens.tokens, facts.tile_tokens);
    if (tiles.tiles != expected)
      violate(plan.target, "expert {} has {} tiles on worker {}, expected {} for {} tokens", tiles.expert, tiles.tiles,
              tiles.worker, expected, tokens.tokens);
    sum[tokens.expert] += tokens.tokens;
  }
  for (int e = 0; e < facts.experts; ++e)
    if (sum[e] != demand.counts[e])
      violate(plan.target, "expert {} has {} tokens in assignment_tokens, expected {}", e, sum[e], demand.counts[e]);
}

}  // namespace

// Where only tiles are stated, sums equal to ceil(count / tile_tokens) are all there is to check: the redundant
// workers' full tiles leave between 1 and t * tile_tokens tokens to a primary with t tiles, and without one the last
// worker takes the short tile. So the token rule covers the demand, nobody with a share gets nothing, and each
// share's tokens need exactly its tiles.
void check_assignment(const Facts& facts, const Plan& plan, const Demand& demand, const LayerMap& layer) {
  Counts sum(facts.experts, 0);
  for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
    const TileShare& share = plan.assignment[i];
    if (share.expert < 0 || share.expert >= facts.experts || share.worker < 0 || share.worker >= facts.workers)
      violate(plan.target, "assignment entry {} names expert {} on worker {}, of {} and {}", i + 1, share.expert,
              share.worker, facts.experts, facts.workers);
    if (i > 0 &&
        std::tie(plan.assignment[i - 1].expert, plan.assignment[i - 1].worker) >= std::tie(share.expert, share.worker))
      violate(plan.target, "assignment entry {} (expert {} on worker {}) is out of order", i + 1, share.expert,
              share.worker);
    // A pair never needs more tiles than the expert has tokens, however a policy splits them.
    if (share.tiles < 1 || share.tiles > demand.counts[share.expert])
      violate(plan.target, "expert {} has {} tiles on worker {} for a count of {}", share.expert, share.tiles,
              share.worker, demand.counts[share.expert]);
    if (!plan.is_virtual && layer.used_slot(share.expert, share.worker) == kAbsentSlot)
      violate(plan.target, "expert {} has {} tiles on worker {}, which does not hold it", share.expert, share.tiles,
              share.worker);
    sum[share.expert] += share.tiles;
  }
  if (!plan.assignment_tokens.empty()) return check_tokens(facts, plan, demand);
  for (int e = 0; e < facts.experts; ++e) {
    const std::int64_t expected = divide_up(demand.counts[e], facts.tile_tokens);
    if (sum[e] != expected)
      violate(plan.target, "expert {} has {} tiles in the assignment, expected {} for a count of {}", e, sum[e],
              expected, demand.counts[e]);
  }
}

Nanos worker_ns(const Facts& facts, int worker, std::int64_t tiles, std::int64_t activated) {
  const LayerCost& cost = facts.planner.cost;
  const Nanos compute = cost.c1_ns * tiles, weights = cost.c2_ns * activated;
  const Nanos work = cost.rule == LoadRule::roofline ? std::max(compute, weights) : compute + weights;
  const Wide slowed = (static_cast<Wide>(work) * facts.slowness[worker] + 999) / 1000;
  return cost.c0_ns + static_cast<Nanos>(std::min<Wide>(slowed, INT64_MAX / 2));
}

void check_loads(const Facts& facts, const Plan& plan) {
  Counts load(facts.workers, 0), activated(facts.workers, 0);
  for (const TileShare& share : plan.assignment) {
    load[share.worker] += share.tiles;
    ++activated[share.worker];
  }
  if (plan.tile_load.size() != load.size())
    violate(plan.target, "tile_load has {} entries, expected {}", plan.tile_load.size(), facts.workers);
  std::int64_t max_tiles = 0;
  Nanos max_ns = 0;
  for (int w = 0; w < facts.workers; ++w) {
    if (plan.tile_load[w] != load[w])
      violate(plan.target, "tile_load of worker {} is {}, expected {}", w, plan.tile_load[w], load[w]);
    max_tiles = std::max(max_tiles, load[w]);
    max_ns = std::max(max_ns, worker_ns(facts, w, load[w], activated[w]));
  }
  if (plan.max_tile_load != max_tiles)
    violate(plan.target, "max_tile_load is {}, expected {}", plan.max_tile_load, max_tiles);
  if (plan.ffn_ns != max_ns) violate(plan.target, "ffn_ns is {}, expected {}", plan.ffn_ns, max_ns);
}

}  // namespace afore::verify
