#pragma once
// A target's tiles on the replicas of one layer: the working state every search of this room shares.
// A worker's load = per_tile*tiles + per_expert*activated, in whatever unit the objective uses (tiles, or ns without
// c0). Every change is logged, so a search can rewind to a mark and a found plan can be replayed.
#include <cstdint>
#include <span>
#include <vector>

#include "core/assignment.h"
#include "core/placement.h"

namespace afore::placement {

struct LoadForm {
  std::int64_t per_tile = 1;
  std::int64_t per_expert = 0;
  // Most tiles one part can have within `load`, its activation not included.
  std::int64_t tiles_within(std::int64_t load) const;
  // Fewest tiles whose removal frees `load`.
  std::int64_t tiles_for(std::int64_t load) const;
  std::int64_t whole(std::int64_t tiles) const { return per_tile * tiles + (tiles > 0 ? per_expert : 0); }
};
inline constexpr LoadForm kTileForm{1, 0};

// Index of the largest key of a fixed set, updated in O(log n); ties go to the lower index.
class Tournament {
 public:
  void build(std::span<const std::int64_t> keys);
  void update(std::span<const std::int64_t> keys, int index);
  int top() const { return winner_[1]; }

 private:
  int leaves_ = 0;
  std::vector<int> winner_;  // heap order, leaves at [leaves_, 2*leaves_); -1 = none
};

struct Replica {
  int expert = 0;
  int worker = 0;
  std::int64_t tiles = 0;
  bool alive = true;  // false once its slot was taken by a copy
};

class Board {
 public:
  // No replicas, no work.
  void reset(std::span<const std::int64_t> demand_tiles, int workers, LoadForm form);
  // Every holder of every expert with demand, its primary first. AFORE_CHECKs that each has one. With `traits`,
  // draining workers' replicas only where an expert has no other; then stand_in() is the first.
  void add_standing(const LayerPlacement& placement, std::span<const WorkerTraits> traits = {});

  int experts() const { return experts_; }
  int workers() const { return workers_; }
  const LoadForm& form() const { return form_; }
  std::int64_t demand(int expert) const { return demand_[expert]; }
  std::span<const Replica> replicas() const { return replicas_; }
  const Replica& replica(int id) const { return replicas_[id]; }
  std::span<const int> of_expert(int expert) const { return of_expert_[expert]; }  // ids, dead ones included
  std::span<const int> of_worker(int worker) const { return of_worker_[worker]; }
  int primary(int expert) const { return of_expert_[expert].front(); }
  int holders(int expert) const { return alive_[expert]; }
  std::int64_t load(int worker) const { return load_[worker]; }
  std::span<const std::int64_t> loads() const { return load_; }
  int busiest() const { return busiest_.top(); }
  std::int64_t max_load() const { return load_[busiest_.top()]; }

  // Work without log; settle() then makes loads and order right and empties the log.
  void put(int replica, std::int64_t tiles) { replicas_[replica].tiles += tiles; }
  void clear_work();
  void all_on_primaries();
  void settle();
  void set_form(LoadForm form);  // recomputes the loads

  // Logged changes.
  void move(int from, int to, std::int64_t tiles);
  int add(int expert, int worker);
  void retire(int replica);  // holds no work
  std::size_t mark() const { return log_.size(); }
  void rewind(std::size_t mark);

  struct Change {
    enum class Kind { move, add, retire } kind;
    int a = 0, b = 0;
    std::int64_t tiles = 0;
  };
  std::span<const Change> changes(std::size_t from) const { return std::span(log_).subspan(from); }
  void replay(std::span<const Change> changes);

  void save(std::vector<std::int64_t>& tiles) const;
  void restore(std::span<const std::int64_t> tiles);        // same replicas as when saved
  std::vector<TileShare> assignment() const;                // sorted by (expert, worker)
  std::int64_t max_load_under(const LoadForm& form) const;  // the same work, weighed otherwise

 private:
  void apply_move(int from, int to, std::int64_t tiles);
  int apply_add(int expert, int worker);

  int experts_ = 0, workers_ = 0;
  LoadForm form_;
  std::vector<std::int64_t> demand_;
  std::vector<Replica> replicas_;
  std::vector<std::vector<int>> of_expert_, of_worker_;
  std::vector<int> alive_;
  std::vector<std::int64_t> load_;
  Tournament busiest_;
  std::vector<Change> log_;
};

}  // namespace afore::placement
