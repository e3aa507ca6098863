#pragma once
// Seeded instances for the tests of this room, and brute force to compare with.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/placement.h"
#include "placement/board.h"
#include "placement/policy.h"

namespace afore::placement::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double normal() {  // sum of twelve uniforms: near enough for test loads
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  std::uint64_t state_;
};

inline Board make_board(const std::vector<std::int64_t>& tiles, int workers,
                        const std::vector<std::vector<int>>& holders, LoadForm form) {
  Board board;
  board.reset(tiles, workers, form);
  for (std::size_t e = 0; e < tiles.size(); ++e)
    if (tiles[e] > 0)
      for (const int worker : holders[e]) board.add(static_cast<int>(e), worker);
  board.settle();
  return board;
}

// max over non-empty S of ceil(D(S)/|S|), all subsets.
inline std::int64_t hall(const std::vector<std::int64_t>& tiles, int workers,
                         const std::vector<std::vector<int>>& holders) {
  std::int64_t best = 0;
  for (unsigned set = 1; set < 1u << workers; ++set) {
    std::int64_t confined = 0;
    for (std::size_t e = 0; e < tiles.size(); ++e)
      if (std::all_of(holders[e].begin(), holders[e].end(), [&](int w) { return set >> w & 1u; })) confined += tiles[e];
    best = std::max(best, ceil_div(confined, __builtin_popcount(set)));
  }
  return best;
}

// Least largest load over all integer splits.
class BruteForce {
 public:
  BruteForce(std::vector<std::int64_t> tiles, int workers, LoadForm form)
      : tiles_(std::move(tiles)), form_(form), load_(workers, 0) {}

  std::int64_t split(const std::vector<std::vector<int>>& holders) {
    best_ = std::numeric_limits<std::int64_t>::max();
    descend(holders, 0, 0, tiles_.empty() ? 0 : tiles_[0]);
    return best_;
  }

  // Least over all ways to make up to `copies` copies into slots that are neither busy nor a primary's.
  std::int64_t with_copies(LayerPlacement placement, const std::vector<std::uint8_t>& busy, std::int64_t copies) {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    try_copies(placement, busy, copies, 0, best);
    return best;
  }

 private:
  void descend(const std::vector<std::vector<int>>& holders, std::size_t expert, std::size_t at, std::int64_t left) {
    if (expert == tiles_.size()) {
      best_ = std::min(best_, *std::max_element(load_.begin(), load_.end()));
      return;
    }
    const bool last = at + 1 == holders[expert].size();
    const int worker = tiles_[expert] == 0 ? 0 : holders[expert][at];
    for (std::int64_t part = last || tiles_[expert] == 0 ? left : 0; part <= left; ++part) {
      const std::int64_t load = form_.whole(part);
      load_[worker] += load;
      if (load_[worker] < best_) {
        if (part == left) descend(holders, expert + 1, 0, expert + 1 < tiles_.size() ? tiles_[expert + 1] : 0);
        else descend(holders, expert, at + 1, left - part);
      }
      load_[worker] -= load;
    }
  }

  void try_copies(const LayerPlacement& placement, const std::vector<std::uint8_t>& busy, std::int64_t copies,
                  std::size_t from, std::int64_t& best) {
    std::vector<std::vector<int>> holders(placement.experts());
    for (int e = 0; e < placement.experts(); ++e)
      holders[e].assign(placement.holders(e).begin(), placement.holders(e).end());
    best = std::min(best, split(holders));
    if (copies == 0) return;
    for (int worker = 0; worker < placement.workers(); ++worker)
      for (int slot = 0; slot < placement.slots_per_worker(); ++slot) {
        const std::size_t index = placement.index(worker, slot);
        if (index < from || placement.is_primary_slot(worker, slot) || busy[index]) continue;
        for (int e = 0; e < placement.experts(); ++e) {
          if (placement.holds(e, worker)) continue;
          LayerPlacement changed = placement;
          changed.set(worker, slot, e);
          try_copies(changed, busy, copies - 1, index + 1, best);
        }
      }
  }

  std::vector<std::int64_t> tiles_;
  LoadForm form_;
  std::vector<std::int64_t> load_;
  std::int64_t best_ = 0;
};

struct Instance {
  LayerPlacement placement;
  std::vector<std::int64_t> counts;
  std::vector<std::uint8_t> busy;
  std::vector<std::int64_t> last_used;
  LayerCost cost;
  Nanos window_ns = 0;

  Request request() const { return {Target{}, counts, placement, busy, last_used, cost, window_ns}; }
};

// Lognormal popularity, some slots filled, some of those busy.
inline Instance random_instance(Random& random, int experts, int workers, int slots, std::int64_t tokens,
                                std::int64_t tile_tokens, Nanos c1, Nanos c2) {
  Instance instance{
      LayerPlacement::initial(experts, workers, slots), std::vector<std::int64_t>(experts, 0), {}, {}, {}};
  std::vector<double> weight(experts);
  double sum = 0;
  for (double& w : weight) sum += w = std::exp(random.normal());
  for (int e = 0; e < experts; ++e)
    instance.counts[e] = static_cast<std::int64_t>(static_cast<double>(tokens) * weight[e] / sum);
  LayerPlacement& placement = instance.placement;
  instance.busy.assign(placement.index_count(), 0);
  instance.last_used.assign(placement.index_count(), -1);
  for (int worker = 0; worker < workers; ++worker)
    for (int slot = 0; slot < placement.slots_per_worker(); ++slot) {
      if (placement.expert_at(worker, slot) != kNoExpert) continue;
      if (random.below(3) == 0) continue;
      const int expert = static_cast<int>(random.below(experts));
      if (placement.holds(expert, worker)) continue;
      placement.set(worker, slot, expert);
      instance.busy[placement.index(worker, slot)] = random.below(3) == 0;
      instance.last_used[placement.index(worker, slot)] = random.below(20);
    }
  instance.cost.c0_ns = 5000;
  instance.cost.c1_ns = c1;
  instance.cost.c2_ns = c2;
  instance.cost.tile_tokens = tile_tokens;
  instance.cost.copy_ns = 148'000;
  instance.window_ns = 1'000'000'000;
  return instance;
}

}  // namespace afore::placement::testing
