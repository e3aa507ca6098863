#include "placement/director/emit.h"

#include <algorithm>

#include "util/error.h"

namespace afore::placement::director {

double Solution::ratio() const {
  return bound_ns > 0 ? static_cast<double>(objective_ns) / static_cast<double>(bound_ns) : 1;
}

// Slots in order: empty ones, ones of no use to the target, least recently used. One that holds a replica with work
// stays.
void copies_for(const Instance& instance, std::span<const TileShare> assignment, std::vector<Copy>& copies) {
  const LayerPlacement& placement = instance.request().placement;
  copies.clear();
  std::vector<TileShare> wanted(assignment.begin(), assignment.end());
  std::erase_if(wanted, [&](const TileShare& share) { return placement.holds(share.expert, share.worker); });
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const TileShare& a, const TileShare& b) { return a.tiles > b.tiles; });
  std::vector<std::uint8_t> taken(instance.open().size(), 0);
  for (const TileShare& share : assignment)
    for (int i = instance.first_open(share.worker); i < instance.first_open(share.worker + 1); ++i)
      if (instance.open()[i].holds == share.expert) taken[i] = 1;
  for (const TileShare& share : wanted) {
    int best = -1;
    for (int i = instance.first_open(share.worker); i < instance.first_open(share.worker + 1); ++i)
      if (!taken[i] && (best < 0 || instance.open()[i].before(instance.open()[best]))) best = i;
    AFORE_CHECK(best >= 0, "a copy has no slot");
    taken[best] = 1;
    copies.push_back({share.expert, placement.primary(share.expert), share.worker, instance.open()[best].slot});
  }
}

Nanos objective_of(const Instance& instance, const LayerPlacement& after, std::span<const TileShare> assignment) {
  const Nanos compute = worker_loads(assignment, instance.workers(), instance.cost(), instance.traits()).max_ns;
  if (instance.link().row_ns == 0) return compute;
  std::vector<std::int64_t> rows(instance.workers(), 0);
  for (const TokenShare& share : token_shares(assignment, instance.counts(), instance.cost().tile_tokens, after))
    rows[share.worker] += share.tokens;
  return compute + instance.communication(*std::max_element(rows.begin(), rows.end()));
}

void emit(const Instance& instance, std::span<const TileShare> standing, std::span<const TileShare> found,
          Solution& solution) {
  const LayerPlacement& before = instance.request().placement;
  copies_for(instance, found, solution.copies);
  LayerPlacement after = before;
  for (const Copy& copy : solution.copies) after.set(copy.to, copy.slot, copy.expert);
  solution.standing_ns = objective_of(instance, before, standing);
  solution.objective_ns = objective_of(instance, after, found);
  const bool better = solution.objective_ns < solution.standing_ns;
  if (better && solution.copies.empty()) solution.standing_ns = solution.objective_ns;
  const auto& kept = better ? found : standing;
  solution.assignment.assign(kept.begin(), kept.end());
  if (better) return;
  solution.copies.clear();
  solution.objective_ns = solution.standing_ns;
}

}  // namespace afore::placement::director
