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
  rule_ = problem.rule;
  slow_.clear();
  const auto slower = [](const WorkerTraits& traits) { return traits.slowdown_permille != 1000; };
  if (std::any_of(problem.traits.begin(), problem.traits.end(), slower))
    for (const WorkerTraits& traits : problem.traits) slow_.push_back(traits.slowdown_permille);
  plain_ = additive() && slow_.empty();
}

// Experts pass through without a branch: which have a choice and which have tiles is not predictable.
void Loads::list_movable() {
  const ReplicaTable& table = *replicas_;
  const int workers = table.workers();
  pinned_tiles_.resize(workers);
  pinned_active_.resize(workers);
  movable_first_.resize(workers + 1);
  movable_.resize(table.replicas());
  most_active_ = 0;
  int next = 0;
  for (int w = 0; w < workers; ++w) {
    movable_first_[w] = next;
    std::int64_t tiles = 0, active = 0;
    for (const int id : table.of_worker(w)) {
      const int expert = table.expert(id);
      const bool pinned = table.count(expert) == 1, busy = demand_[expert] > 0;
      movable_[next] = id;
      next += !pinned & busy;
      tiles += pinned ? demand_[expert] : 0;
      active += pinned & busy;
    }
    pinned_tiles_[w] = tiles;
    pinned_active_[w] = active;
    most_active_ = std::max(most_active_, next - movable_first_[w] + static_cast<int>(active));
  }
  movable_first_[workers] = next;
}

// Lists the experts with a choice; with `put` those without go to their replica.
void Loads::list_experts(bool put) {
  const ReplicaTable& table = *replicas_;
  free_experts_.resize(table.experts() + 1);
  int next = 0, homeless = 0;
  std::int64_t total = 0, active = 0;
  for (int expert = 0; expert < table.experts(); ++expert) {
    const int replicas = table.count(expert);
    const std::int64_t tiles = demand_[expert];
    total += tiles;
    active += tiles > 0;
    homeless += (tiles > 0) & (replicas == 0);
    free_experts_[next] = expert;
    next += (tiles > 0) & (replicas > 1);
    if (put && replicas == 1) (*parts_)[table.first(expert)] = tiles;
  }
  AFORE_CHECK(homeless == 0, "an expert with tiles has a replica");
  free_experts_.resize(next);
  total_tiles_ = total;
  active_experts_ = static_cast<int>(active);
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
  list_experts(!keep);
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
  const std::int64_t work = load_by(rule_, per_tile_ * tiles, per_expert_ * active);
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

void Loads::save(Saved& to) const {
  to.parts.assign(parts_->begin(), parts_->end());
  to.tiles.assign(tiles_.begin(), tiles_.end());
  to.active.assign(active_.begin(), active_.end());
  to.load.assign(load_.begin(), load_.end());
}

void Loads::restore(const Saved& from) {
  std::copy(from.parts.begin(), from.parts.end(), parts_->begin());
  std::copy(from.tiles.begin(), from.tiles.end(), tiles_.begin());
  std::copy(from.active.begin(), from.active.end(), active_.begin());
  std::copy(from.load.begin(), from.load.end(), load_.begin());
  clear_trail();
}

}  // namespace afore::placement::exact
