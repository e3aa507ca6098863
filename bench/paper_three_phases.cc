#include "bench/paper_three_phases.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace afore::bench {
namespace {

std::vector<int> by_load(const std::vector<std::int64_t>& load, bool descending) {
  std::vector<int> order(load.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return descending ? load[a] > load[b] : load[a] < load[b]; });
  return order;
}

}  // namespace

void PaperThreePhases::count_loads(int workers) {
  load_.assign(workers, 0);
  for (const auto& parts : shares_)
    for (const auto& [worker, tiles] : parts) load_[worker] += tiles;
}

// Phase 1: the part of the preceding assignment that is still valid; what is missing goes to the primary.
void PaperThreePhases::adapt(const std::vector<std::int64_t>& tiles, const LayerPlacement& placement) {
  shares_.resize(tiles.size());
  holders_.resize(tiles.size());
  for (int expert = 0; expert < static_cast<int>(tiles.size()); ++expert) {
    holders_[expert].assign(placement.holders(expert).begin(), placement.holders(expert).end());
    std::map<int, std::int64_t> kept;
    std::int64_t left = tiles[expert];
    for (const auto& [worker, before] : shares_[expert]) {
      if (!placement.holds(expert, worker)) continue;
      const std::int64_t part = std::min(before, left);
      if (part > 0) kept[worker] = part;
      left -= part;
    }
    if (left > 0) kept[placement.primary(expert)] += left;
    shares_[expert] = std::move(kept);
  }
  count_loads(placement.workers());
}

// Phase 2: senders by falling load, receivers by rising load, min(n, half the difference) tiles if over the threshold.
void PaperThreePhases::rebalance() {
  for (bool moved = true; moved;) {
    moved = false;
    for (const int sender : by_load(load_, true)) {
      for (const int receiver : by_load(load_, false)) {
        if (load_[sender] - load_[receiver] < 2) break;
        for (int expert = 0; expert < static_cast<int>(shares_.size()); ++expert) {
          const auto part = shares_[expert].find(sender);
          if (part == shares_[expert].end()) continue;
          if (std::find(holders_[expert].begin(), holders_[expert].end(), receiver) == holders_[expert].end()) continue;
          const std::int64_t tiles = std::min(part->second, (load_[sender] - load_[receiver]) / 2);
          if (tiles <= threshold_) continue;
          shares_[expert][receiver] += tiles;
          part->second -= tiles;
          if (part->second == 0) shares_[expert].erase(part);
          load_[sender] -= tiles;
          load_[receiver] += tiles;
          moved = true;
        }
      }
      if (moved) break;
    }
  }
}

// Phase 3: new replicas in safe slots, each candidate scored by the net gain of what it leads to; the best prefix with
// a positive gain stands.
void PaperThreePhases::replicate(const placement::Request& request, std::vector<Copy>& copies) {
  const LayerPlacement& placement = request.placement;
  const int workers = placement.workers();
  const std::int64_t base = *std::max_element(load_.begin(), load_.end());
  std::set<std::size_t> reserved;
  Shares best_shares = shares_;
  Nanos best_gain = 0;
  std::size_t best_copies = 0;
  while (static_cast<std::int64_t>(copies.size()) < limits_.copy_budget) {
    const int sender = static_cast<int>(std::max_element(load_.begin(), load_.end()) - load_.begin());
    Nanos chosen_gain = 0;
    Copy chosen;
    std::int64_t chosen_tiles = 0;
    for (const int receiver : by_load(load_, false)) {
      if (load_[sender] - load_[receiver] < 2) break;
      int slot = kNoSlot;
      std::int64_t oldest = 0;
      for (int i = 0; i < placement.slots_per_worker(); ++i) {
        const std::size_t index = placement.index(receiver, i);
        const int held = placement.expert_at(receiver, i);
        if (reserved.count(index) > 0 || request.busy[index] || placement.is_primary_slot(receiver, i)) continue;
        if (held == kNoExpert) {
          slot = i;
          break;
        }
        if (shares_[held].count(receiver) > 0) continue;
        if (slot == kNoSlot || request.last_used[index] < oldest) {
          slot = i;
          oldest = request.last_used[index];
        }
      }
      if (slot == kNoSlot) continue;
      for (int expert = 0; expert < static_cast<int>(shares_.size()); ++expert) {
        const auto part = shares_[expert].find(sender);
        if (part == shares_[expert].end()) continue;
        if (std::find(holders_[expert].begin(), holders_[expert].end(), receiver) != holders_[expert].end()) continue;
        const std::int64_t tiles = std::min(part->second, (load_[sender] - load_[receiver]) / 2);
        if (tiles <= threshold_) continue;
        const std::int64_t after = std::max(load_[sender] - tiles, load_[receiver] + tiles);
        const Nanos gain = request.cost.c1_ns * (load_[sender] - after);
        if (gain > chosen_gain) {
          chosen_gain = gain;
          chosen = {expert, placement.primary(expert), receiver, slot};
          chosen_tiles = tiles;
        }
      }
    }
    if (chosen_gain == 0) break;
    reserved.insert(placement.index(chosen.to, chosen.slot));
    const int held = placement.expert_at(chosen.to, chosen.slot);
    if (held != kNoExpert) std::erase(holders_[held], chosen.to);
    holders_[chosen.expert].push_back(chosen.to);
    shares_[chosen.expert][chosen.to] += chosen_tiles;
    auto part = shares_[chosen.expert].find(sender);
    part->second -= chosen_tiles;
    if (part->second == 0) shares_[chosen.expert].erase(part);
    load_[sender] -= chosen_tiles;
    load_[chosen.to] += chosen_tiles;
    copies.push_back(chosen);
    const std::int64_t now = *std::max_element(load_.begin(), load_.end());
    const Nanos exposed = std::max<Nanos>(0, migration_ns(copies, workers, request.cost) - request.window_ns);
    const Nanos gain = request.cost.c1_ns * (base - now) - exposed;
    if (gain > best_gain) {
      best_gain = gain;
      best_copies = copies.size();
      best_shares = shares_;
    }
  }
  copies.resize(best_copies);
  shares_ = std::move(best_shares);
  count_loads(workers);
}

placement::Decision PaperThreePhases::decide(const placement::Request& request) {
  placement::Decision decision;
  std::vector<std::int64_t> tiles;
  count_tiles(request.counts, request.cost.tile_tokens, tiles);
  adapt(tiles, request.placement);
  rebalance();
  decision.max_tiles_before = *std::max_element(load_.begin(), load_.end());
  replicate(request, decision.copies);
  for (int expert = 0; expert < static_cast<int>(shares_.size()); ++expert)
    for (const auto& [worker, part] : shares_[expert]) decision.assignment.push_back({expert, worker, part});
  return decision;
}

}  // namespace afore::bench
