#pragma once
// Small split problems for the exact splitter's tests, and brute force that shares no code with it.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/placement.h"
#include "instances.h"
#include "placement/replica_table.h"
#include "placement/split_problem.h"

namespace afore::placement::testing {

struct SplitCase {
  int workers = 1;
  std::vector<std::int64_t> tiles;
  std::vector<std::vector<int>> holders;  // the primary first
  LoadRule rule = LoadRule::additive;
  std::int64_t per_tile = 1, per_expert = 0;
  std::vector<WorkerTraits> traits;
  ReplicaTable table;

  void build() {
    const int experts = static_cast<int>(tiles.size());
    LayerPlacement placement(experts, workers, std::max(experts, 1));
    for (int e = 0; e < experts; ++e)
      for (const int w : holders[e]) placement.set(w, e, e);
    for (int e = 0; e < experts; ++e)
      if (!holders[e].empty()) placement.fix_primary(e, holders[e][0]);
    table.reset(placement, traits);
  }
  SplitProblem problem() const { return {table, tiles, rule, per_tile, per_expert, traits}; }

  std::int64_t load(int worker, std::int64_t tiles_there, std::int64_t active) const {
    const std::int64_t compute = per_tile * tiles_there, weights = per_expert * active;
    const std::int64_t work = rule == LoadRule::additive ? compute + weights : std::max(compute, weights);
    const std::int64_t slow = traits.empty() ? 1000 : traits[worker].slowdown_permille;
    return static_cast<std::int64_t>((static_cast<__int128>(work) * slow + 999) / 1000);
  }
  // Largest load of a split; -1 where it is no split of the tiles.
  std::int64_t largest(const std::vector<std::int64_t>& parts) const {
    if (static_cast<int>(parts.size()) != table.replicas()) return -1;
    std::vector<std::int64_t> sum(tiles.size(), 0), there(workers, 0), active(workers, 0);
    for (int id = 0; id < table.replicas(); ++id) {
      if (parts[id] < 0) return -1;
      sum[table.expert(id)] += parts[id];
      there[table.worker(id)] += parts[id];
      active[table.worker(id)] += parts[id] > 0;
    }
    if (sum != tiles) return -1;
    std::int64_t most = 0;
    for (int w = 0; w < workers; ++w) most = std::max(most, load(w, there[w], active[w]));
    return most;
  }
  std::int64_t on_primaries() const {
    std::vector<std::int64_t> parts(table.replicas(), 0);
    for (std::size_t e = 0; e < tiles.size(); ++e)
      if (tiles[e] > 0) parts[table.first(static_cast<int>(e))] = tiles[e];
    return largest(parts);
  }
};

// Least largest load over all integer splits.
class BruteSplit {
 public:
  explicit BruteSplit(const SplitCase& problem)
      : problem_(problem), tiles_(problem.workers, 0), active_(problem.workers, 0) {
    for (std::size_t e = 0; e < problem.tiles.size(); ++e)
      if (problem.tiles[e] > 0) experts_.push_back(static_cast<int>(e));
  }
  std::int64_t best() {
    best_ = experts_.empty() ? 0 : std::numeric_limits<std::int64_t>::max();
    if (!experts_.empty()) split(0, 0, problem_.tiles[experts_[0]]);
    return best_;
  }

 private:
  void split(std::size_t at, std::size_t holder, std::int64_t left) {
    const std::vector<int>& holders = problem_.holders[experts_[at]];
    const int worker = holders[holder];
    const bool last = holder + 1 == holders.size();
    for (std::int64_t part = last ? left : 0; part <= left; ++part) {
      tiles_[worker] += part;
      active_[worker] += part > 0;
      if (problem_.load(worker, tiles_[worker], active_[worker]) < best_) {
        if (!last) split(at, holder + 1, left - part);
        else if (at + 1 < experts_.size()) split(at + 1, 0, problem_.tiles[experts_[at + 1]]);
        else finish();
      }
      active_[worker] -= part > 0;
      tiles_[worker] -= part;
    }
  }
  void finish() {
    std::int64_t most = 0;
    for (int w = 0; w < problem_.workers; ++w) most = std::max(most, problem_.load(w, tiles_[w], active_[w]));
    best_ = std::min(best_, most);
  }

  const SplitCase& problem_;
  std::vector<int> experts_;
  std::vector<std::int64_t> tiles_, active_;
  std::int64_t best_ = 0;
};

inline SplitCase small_case(Random& random, LoadRule rule, bool slowdowns, int workers = 0);  // 0: 2 to 4

// Small problems of one cost side by side, workers and experts in shuffled order. Nothing is shared between them, so
// the best split of all is known from theirs: `best` is its largest load.
inline SplitCase many_small_cases(Random& random, LoadRule rule, bool slowdowns, int blocks, int workers,
                                  std::int64_t& best) {
  SplitCase all;
  all.rule = rule;
  all.workers = 0;
  best = 0;
  for (int block = 0; block < blocks; ++block) {
    SplitCase small = small_case(random, rule, slowdowns, workers);
    if (block == 0) {
      all.per_tile = small.per_tile;
      all.per_expert = small.per_expert;
    }
    small.per_tile = all.per_tile;
    small.per_expert = all.per_expert;
    best = std::max(best, BruteSplit(small).best());
    for (std::size_t e = 0; e < small.tiles.size(); ++e) {
      all.tiles.push_back(small.tiles[e]);
      for (int& w : small.holders[e]) w += all.workers;
      all.holders.push_back(small.holders[e]);
    }
    all.traits.insert(all.traits.end(), small.traits.begin(), small.traits.end());
    all.workers += small.workers;
  }
  std::vector<int> place(all.workers);
  for (int w = 0; w < all.workers; ++w) place[w] = w;
  for (int w = all.workers - 1; w > 0; --w) std::swap(place[w], place[random.below(w + 1)]);
  for (auto& holders : all.holders)
    for (int& w : holders) w = place[w];
  const std::vector<WorkerTraits> traits = all.traits;
  for (std::size_t w = 0; w < traits.size(); ++w) all.traits[place[w]] = traits[w];
  for (std::size_t e = all.tiles.size() - 1; e > 0; --e) {
    const auto other = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(e) + 1));
    std::swap(all.tiles[e], all.tiles[other]);
    std::swap(all.holders[e], all.holders[other]);
  }
  all.build();
  return all;
}

inline SplitCase small_case(Random& random, LoadRule rule, bool slowdowns, int workers) {
  static constexpr std::int64_t kCosts[][2] = {{1, 0}, {1, 1}, {1, 2}, {1, 4}, {10, 35}, {5370, 18570}, {3, 7}, {0, 1}};
  SplitCase made;
  made.rule = rule;
  made.workers = workers > 0 ? workers : static_cast<int>(2 + random.below(3));
  const auto experts = static_cast<int>(2 + random.below(6) + (workers > 4 ? 3 : 0));
  const auto& cost = kCosts[random.below(8)];
  made.per_tile = cost[0];
  made.per_expert = cost[1];
  for (int e = 0; e < experts; ++e) {
    made.tiles.push_back(random.below(3) == 0 ? random.below(2) : random.below(workers > 4 ? 6 : 9));
    std::vector<int> order(made.workers);
    for (int w = 0; w < made.workers; ++w) order[w] = w;
    for (int w = made.workers - 1; w > 0; --w) std::swap(order[w], order[random.below(w + 1)]);
    order.resize(1 + random.below(std::min(made.workers, 3)));
    made.holders.push_back(order);
  }
  if (slowdowns)
    for (int w = 0; w < made.workers; ++w) made.traits.push_back({700 + 100 * random.below(9), 1000, false});
  made.build();
  return made;
}

}  // namespace afore::placement::testing
