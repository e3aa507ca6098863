#include "placement/exact/loads.h"

#include <algorithm>

#include "util/error.h"

namespace afore::placement::exact {
namespace {

constexpr std::size_t kTrail = 1024;  // searches log less between two marks

}  // namespace

void Loads::read_rule(const SplitProblem& problem) {
  replicas_ = &problem.replicas;
  demand_ = problem.tiles;
  per_tile_ = problem.per_tile;
  per_expert_ = problem.per_expert;
  additive_ = problem.rule == LoadRule::additive;
  slow_.clear();
  const auto slower = [](const WorkerTraits& traits) { return traits.slowdown_permille != 1000; };
  if (std::any_of(problem.traits.begin(), problem.traits.end(), slower))
    for (const WorkerTraits& traits : problem.traits) slow_.push_back(traits.slowdown_permille);
  plain_ = additive_ && slow_.empty();
}

void Loads::list_movable() {
  const ReplicaTable& table = *replicas_;
  const int workers = table.workers();
  pinned_tiles_.assign(workers, 0);
  pinned_active_.assign(workers, 0);
  movable_first_.clear();
  movable_first_.reserve(workers + 1);
  movable_.clear();
  movable_.reserve(table.replicas());
  most_active_ = 0;
  for (int w = 0; w < workers; ++w) {
    movable_first_.push_back(static_cast<int>(movable_.size()));
    for (const int id : table.of_worker(w)) {
      const int expert = table.expert(id);
      if (demand_[expert] == 0) continue;
      if (table.count(expert) > 1) {
        movable_.push_back(id);
        continue;
      }
      pinned_tiles_[w] += demand_[expert];
      ++pinned_active_[w];
    }
    const int held = static_cast<int>(movable_.size()) - movable_first_[w] + static_cast<int>(pinned_active_[w]);
    most_active_ = std::max(most_active_, held);
  }
  movable_first_.push_back(static_cast<int>(movable_.size()));
}

void Loads::reset(const SplitProblem& problem, std::vector<std::int64_t>& parts, bool keep) {
  read_rule(problem);
  parts_ = &parts;
  const ReplicaTable& table = *replicas_;
  AFORE_CHECK(static_cast<int>(demand_.size()) == table.experts(), "tiles by expert");
  AFORE_CHECK(slow_.empty() || static_cast<int>(slow_.size()) == table.workers(), "traits by worker");
  AFORE_CHECK(!keep || static_cast<int>(parts.size()) == table.replicas(), "parts by replica");
  list_movable();
  if (!keep) parts.assign(table.replicas(), 0);
  free_experts_.clear();
  free_experts_.reserve(table.experts());
  total_tiles_ = 0;
  active_experts_ = 0;
  for (int expert = 0; expert < table.experts(); ++expert) {
    if (demand_[expert] == 0) continue;
    const int replicas = table.count(expert);
    AFORE_CHECK(replicas > 0, "an expert with tiles has a replica");
    total_tiles_ += demand_[expert];
    ++active_experts_;
    if (replicas > 1) free_experts_.push_back(expert);
    else if (!keep) parts[table.first(expert)] = demand_[expert];
  }
  trail_.clear();
  trail_.reserve(kTrail);
  tiles_.resize(table.workers());
  active_.resize(table.workers());
  load_.resize(table.workers());
  if (keep) return recount();
  tiles_ = pinned_tiles_;
  active_ = pinned_active_;
  for (int w = 0; w < table.workers(); ++w) load_[w] = load_of(w, tiles_[w], active_[w]);
}

void Loads::recount() {
  const ReplicaTable& table = *replicas_;
  const std::vector<std::int64_t>& parts = *parts_;
  std::fill(tiles_.begin(), tiles_.end(), 0);
  std::fill(active_.begin(), active_.end(), 0);
  for (int expert = 0; expert < table.experts(); ++expert) {
    std::int64_t sum = 0;
    for (int id = table.first(expert); id < table.first(expert + 1); ++id) {
      AFORE_CHECK(parts[id] >= 0, "a part is not negative");
      if (parts[id] == 0) continue;
      sum += parts[id];
      tiles_[table.worker(id)] += parts[id];
      ++active_[table.worker(id)];
    }
    AFORE_CHECK(sum == demand_[expert], "parts sum up to the expert's tiles");
  }
  for (int w = 0; w < table.workers(); ++w) load_[w] = load_of(w, tiles_[w], active_[w]);
}

std::int64_t Loads::load_of(int worker, std::int64_t tiles, std::int64_t active) const {
  const std::int64_t compute = per_tile_ * tiles, weights = per_expert_ * active;
  const std::int64_t work = additive_ ? compute + weights : std::max(compute, weights);
  if (slow_.empty()) return work;
  return static_cast<std::int64_t>((static_cast<__int128>(work) * slow_[worker] + 999) / 1000);
}

void Loads::rewind(std::size_t mark) {
  while (trail_.size() > mark) {
    const Step step = trail_.back();
    trail_.pop_back();
    change(step.to, -step.tiles);
    change(step.from, step.tiles);
  }
}

void Loads::restore(const std::vector<std::int64_t>& from) {
  std::copy(from.begin(), from.end(), parts_->begin());
  recount();
  clear_trail();
}

}  // namespace afore::placement::exact
