#include "placement/exact/clusters.h"

#include <algorithm>
#include <array>

namespace afore::placement::exact {
namespace {

constexpr std::array<int, 4> kSizes = {4, 6, 8, 12};

}  // namespace

void Clusters::reset(const Loads& loads) {
  const int workers = loads.workers();
  inside_.assign(workers, 0);
  listed_.assign(loads.replicas().experts(), 0);
  members_.clear();
  members_.reserve(workers);
  near_.reserve(loads.replicas().replicas());
  ids_.reserve(workers);
  experts_.reserve(loads.replicas().experts());
  missing_.resize(loads.replicas().experts());
  is_near_.assign(workers, 0);
  border_.reserve(workers);
}

// Breadth first from `worker`, the least loaded neighbours first.
void Clusters::grow(const Loads& loads, int worker, int size, bool along_parts) {
  const ReplicaTable& table = loads.replicas();
  for (const int w : members_) inside_[w] = 0;
  members_.clear();
  members_.push_back(worker);
  inside_[worker] = 1;
  for (std::size_t at = 0; at < members_.size() && static_cast<int>(members_.size()) < size; ++at) {
    near_.clear();
    for (const int id : loads.movable(members_[at])) {
      if (along_parts && loads.part(id) == 0) continue;
      const int expert = table.expert(id);
      for (int other = table.first(expert); other < table.first(expert + 1); ++other)
        if (!inside_[table.worker(other)]) near_.emplace_back(loads.load(table.worker(other)), table.worker(other));
    }
    std::sort(near_.begin(), near_.end());
    for (const auto& [load, next] : near_) {
      if (static_cast<int>(members_.size()) == size) break;
      if (inside_[next]) continue;
      inside_[next] = 1;
      members_.push_back(next);
    }
  }
}

void Clusters::enter(const Loads& loads, int worker) {
  const ReplicaTable& table = loads.replicas();
  inside_[worker] = 1;
  members_.push_back(worker);
  for (const int at : loads.movable(worker)) {
    const int expert = table.expert(at);
    --missing_[expert];
    for (int id = table.first(expert); id < table.first(expert + 1); ++id) {
      const int other = table.worker(id);
      if (inside_[other] || is_near_[other]) continue;
      is_near_[other] = 1;
      border_.push_back(other);
    }
  }
}

// One after another the worker that confines most: its pinned work and the experts that then cannot leave, and by the
// square of what they lack those that still can.
void Clusters::grow_confined(const Loads& loads, int worker, int size) {
  const ReplicaTable& table = loads.replicas();
  for (const int w : members_) inside_[w] = 0;
  members_.clear();
  for (const int expert : loads.free_experts()) missing_[expert] = table.count(expert);
  for (const int w : border_) is_near_[w] = 0;
  border_.clear();
  is_near_[worker] = 1;
  enter(loads, worker);
  while (static_cast<int>(members_.size()) < size) {
    int best = -1;
    std::int64_t best_score = -1;
    for (const int w : border_) {
      if (inside_[w]) continue;
      std::int64_t score = loads.tile() * loads.pinned_tiles(w) + loads.setup() * loads.pinned_active(w);
      for (const int at : loads.movable(w)) {
        const int expert = table.expert(at);
        const std::int64_t missing = missing_[expert];
        score += loads.whole(loads.demand(expert)) / (missing * missing);
      }
      if (score > best_score) {
        best_score = score;
        best = w;
      }
    }
    if (best < 0) break;
    enter(loads, best);
  }
  is_near_[worker] = 0;
}

// `confined`: experts that cannot leave the members, with all their tiles; else all tiles that stand on them.
Answer Clusters::search(Loads& loads, std::int64_t limit, std::int64_t node_budget, bool confined) {
  const ReplicaTable& table = loads.replicas();
  dfs_.begin(loads, members_);
  experts_.clear();
  for (const int w : members_)
    for (const int at : loads.movable(w)) {
      const int expert = table.expert(at);
      if (listed_[expert]) continue;
      listed_[expert] = 1;
      experts_.push_back(expert);
      ids_.clear();
      std::int64_t tiles = 0;
      for (int id = table.first(expert); id < table.first(expert + 1); ++id)
        if (inside_[table.worker(id)]) {
          ids_.push_back(id);
          tiles += loads.part(id);
        }
      if (confined && static_cast<int>(ids_.size()) < table.count(expert)) continue;
      if (tiles > 0) dfs_.add(ids_, tiles);
    }
  for (const int expert : experts_) listed_[expert] = 0;
  return dfs_.run(limit, node_budget);
}

// The search's parts instead of what stands on the members. Workers' loads follow part by part.
void Clusters::apply(Loads& loads) {
  for (const int w : members_)
    for (const int id : loads.movable(w))
      if (loads.part(id) > 0) loads.put(id, -loads.part(id));
  for (const ThresholdDfs::Part& part : dfs_.parts()) loads.put(part.id, part.tiles);
}

bool Clusters::resolve(Loads& loads, std::int64_t limit, std::int64_t node_budget) {
  loads.save(saved_);
  for (int worker = loads.busiest(); loads.load(worker) > limit; worker = loads.busiest()) {
    bool done = false;
    bool along_parts = false;
    for (const int size : kSizes) {
      grow(loads, worker, size, along_parts);
      along_parts = !along_parts;
      if (search(loads, limit, node_budget, false) == Answer::feasible) {
        apply(loads);
        done = true;
        break;
      }
    }
    if (done) continue;
    stuck_ = worker;
    loads.restore(saved_);
    return false;
  }
  return true;
}

Answer Clusters::prove(Loads& loads, std::int64_t limit, std::int64_t node_budget, bool try_whole) {
  for (const int size : kSizes) {
    if (size >= loads.workers()) break;
    grow_confined(loads, stuck_, size);
    if (search(loads, limit, node_budget, true) == Answer::infeasible) return Answer::infeasible;
  }
  return try_whole ? whole(loads, limit, node_budget) : Answer::unknown;
}

Answer Clusters::whole(Loads& loads, std::int64_t limit, std::int64_t node_budget) {
  std::fill(inside_.begin(), inside_.end(), 1);
  members_.clear();
  for (int w = 0; w < loads.workers(); ++w) members_.push_back(w);
  const Answer answer = search(loads, limit, node_budget, true);
  if (answer == Answer::feasible) apply(loads);
  return answer;
}

}  // namespace afore::placement::exact
