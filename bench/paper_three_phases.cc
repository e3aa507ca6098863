#include "bench/paper_three_phases.h"

#include <algorithm>
#include <numeric>

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

void PaperThreePhases::count_loads() {
  load_.assign(shares_.size(), 0);
  for (std::size_t worker = 0; worker < shares_.size(); ++worker)
    for (const auto& [expert, tiles] : shares_[worker]) load_[worker] += tiles;
}

bool PaperThreePhases::holds(int expert, int worker) const {
  return std::find(holders_[expert].begin(), holders_[expert].end(), worker) != holders_[expert].end();
}

void PaperThreePhases::shift(int expert, int from, int to, std::int64_t tiles) {
  shares_[to][expert] += tiles;
  const auto part = shares_[from].find(expert);
  part->second -= tiles;
  if (part->second == 0) shares_[from].erase(part);
  load_[from] -= tiles;
  load_[to] += tiles;
}

// Phase 1: the part of the preceding assignment that is still valid; what is missing goes to the primary.
void PaperThreePhases::adapt(const std::vector<std::int64_t>& tiles, const LayerPlacement& placement) {
  Shares before = std::move(shares_);
  before.resize(placement.workers());
  shares_.assign(placement.workers(), {});
  holders_.resize(tiles.size());
  std::vector<std::int64_t> left = tiles;
  for (int worker = 0; worker < placement.workers(); ++worker)
    for (const auto& [expert, part] : before[worker]) {
      const std::int64_t kept = placement.holds(expert, worker) ? std::min(part, left[expert]) : 0;
      if (kept > 0) shares_[worker][expert] = kept;
      left[expert] -= kept;
    }
  for (int expert = 0; expert < static_cast<int>(tiles.size()); ++expert) {
    holders_[expert].assign(placement.holders(expert).begin(), placement.holders(expert).end());
    if (left[expert] > 0) shares_[placement.primary(expert)][expert] += left[expert];
  }
  count_loads();
}

// Phase 2: senders by falling load, receivers by rising load, min(n, half the difference) tiles if over the threshold.
void PaperThreePhases::rebalance() {
  for (bool moved = true; moved;) {
    moved = false;
    const std::vector<int> receivers = by_load(load_, false);
    for (const int sender : by_load(load_, true))
      for (const int receiver : receivers) {
        if (load_[sender] - load_[receiver] < 2) continue;
        const std::map<int, std::int64_t> parts = shares_[sender];
        for (const auto& [expert, part] : parts) {
          const std::int64_t tiles = std::min(part, (load_[sender] - load_[receiver]) / 2);
          if (tiles <= threshold_ || !holds(expert, receiver)) continue;
          shift(expert, sender, receiver, tiles);
          moved = true;
        }
      }
  }
}

// The first empty slot, else the least recently used whose replica has no work in the target; kNoSlot if none is safe.
int PaperThreePhases::safe_slot(const placement::Request& request, int worker,
                                const std::set<std::size_t>& reserved) const {
  const LayerPlacement& placement = request.placement;
  int best = kNoSlot;
  std::int64_t oldest = 0;
  for (int slot = 0; slot < placement.slots_per_worker(); ++slot) {
    const std::size_t index = placement.index(worker, slot);
    if (reserved.count(index) > 0 || request.busy[index]) continue;
    const int held = placement.expert_at(worker, slot);
    if (held == kNoExpert) return slot;
    if (placement.is_primary_slot(worker, slot) || shares_[worker].count(held) > 0) continue;
    if (best == kNoSlot || request.last_used[index] < oldest) {
      best = slot;
      oldest = request.last_used[index];
    }
  }
  return best;
}

// Phase 3: new replicas in safe slots, each candidate scored by what it takes off the busiest worker; the best prefix
// with a positive net gain stands.
void PaperThreePhases::replicate(const placement::Request& request, std::vector<Copy>& copies) {
  const LayerPlacement& placement = request.placement;
  const std::int64_t base = *std::max_element(load_.begin(), load_.end());
  std::set<std::size_t> reserved;
  Shares best_shares = shares_;
  Nanos best_gain = 0;
  std::size_t best_copies = 0;
  while (static_cast<std::int64_t>(copies.size()) < limits_.copy_budget) {
    const int sender = static_cast<int>(std::max_element(load_.begin(), load_.end()) - load_.begin());
    std::int64_t chosen_gain = 0, chosen_tiles = 0;
    Copy chosen;
    for (const int receiver : by_load(load_, false)) {
      if (load_[sender] - load_[receiver] < 2) break;
      const int slot = safe_slot(request, receiver, reserved);
      if (slot == kNoSlot) continue;
      for (const auto& [expert, part] : shares_[sender]) {
        const std::int64_t tiles = std::min(part, (load_[sender] - load_[receiver]) / 2);
        const std::int64_t gain = load_[sender] - std::max(load_[sender] - tiles, load_[receiver] + tiles);
        if (tiles <= threshold_ || gain <= chosen_gain || holds(expert, receiver)) continue;
        chosen_gain = gain;
        chosen = {expert, placement.primary(expert), receiver, slot};
        chosen_tiles = tiles;
      }
    }
    if (chosen_gain == 0) break;
    reserved.insert(placement.index(chosen.to, chosen.slot));
    const int held = placement.expert_at(chosen.to, chosen.slot);
    if (held != kNoExpert) std::erase(holders_[held], chosen.to);
    holders_[chosen.expert].push_back(chosen.to);
    shift(chosen.expert, sender, chosen.to, chosen_tiles);
    copies.push_back(chosen);
    const std::int64_t now = *std::max_element(load_.begin(), load_.end());
    const Nanos migration = migration_ns(copies, placement.workers(), request.cost);
    const Nanos gain = request.cost.c1_ns * (base - now) - std::max<Nanos>(0, migration - request.window_ns);
    if (gain <= best_gain) continue;
    best_gain = gain;
    best_copies = copies.size();
    best_shares = shares_;
  }
  copies.resize(best_copies);
  shares_ = std::move(best_shares);
  count_loads();
}

void PaperThreePhases::plan(const placement::Request& request, placement::Decision& decision) {
  decision.clear();
  std::vector<std::int64_t> tiles;
  count_tiles(request.counts, request.cost.tile_tokens, tiles);
  adapt(tiles, request.placement);
  rebalance();
  decision.max_tiles_before = *std::max_element(load_.begin(), load_.end());
  replicate(request, decision.copies);
  for (int worker = 0; worker < static_cast<int>(shares_.size()); ++worker)
    for (const auto& [expert, part] : shares_[worker]) decision.assignment.push_back({expert, worker, part});
  std::sort(decision.assignment.begin(), decision.assignment.end(), [](const TileShare& a, const TileShare& b) {
    return a.expert != b.expert ? a.expert < b.expert : a.worker < b.worker;
  });
}

}  // namespace afore::bench
