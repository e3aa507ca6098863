#pragma once
// A split under way: the tiles of every part, and what they make of each worker. A worker's state is (tiles, activated
// experts); its load and its capacity come from that alone, under either rule and any slowdown. Slowdown s turns a
// limit T on the load into the budget floor(1000*T/s) on per_tile*tiles op per_expert*activated, so that searches and
// bounds see budgets only.
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "placement/split_problem.h"

namespace afore::placement::exact {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 2;

class Loads {
 public:
  // Borrows the problem and `parts` (by replica id) until the next reset. `keep`: parts hold a whole split, recounted;
  // otherwise experts with one replica are put there and all others nowhere.
  void reset(const SplitProblem& problem, std::vector<std::int64_t>& parts, bool keep);
  // Recounts workers from the parts; a broken split is our own bug.
  void recount();

  const ReplicaTable& replicas() const { return *replicas_; }
  int workers() const { return replicas_->workers(); }
  std::int64_t demand(int expert) const { return demand_[expert]; }
  std::int64_t total_tiles() const { return total_tiles_; }
  int active_experts() const { return active_experts_; }
  // Experts with tiles and a choice, ascending; and their replicas on a worker.
  std::span<const int> free_experts() const { return free_experts_; }
  std::span<const int> movable(int worker) const {
    return std::span(movable_).subspan(movable_first_[worker], movable_first_[worker + 1] - movable_first_[worker]);
  }
  std::int64_t pinned_tiles(int worker) const { return pinned_tiles_[worker]; }
  std::int64_t pinned_active(int worker) const { return pinned_active_[worker]; }
  int most_active() const { return most_active_; }  // experts with tiles on any one worker, at most

  // The rule. Under a limit T every worker has room for `tile()` per tile and `setup()` per activated expert, and
  // seats for activated experts: additive work needs room only, roofline work room for its tiles and a seat.
  bool plain() const { return plain_; }  // additive, all workers alike
  bool alike() const { return slow_.empty(); }
  bool additive() const { return rule_ == LoadRule::additive; }
  std::int64_t per_tile() const { return per_tile_; }
  std::int64_t per_expert() const { return per_expert_; }
  std::int64_t tile() const { return per_tile_; }
  std::int64_t setup() const { return additive() ? per_expert_ : 0; }
  std::int64_t whole(std::int64_t tiles) const { return per_tile_ * tiles + setup(); }
  std::int64_t slowdown(int worker) const { return slow_.empty() ? 1000 : slow_[worker]; }
  std::int64_t room(int worker, std::int64_t limit) const {
    if (slow_.empty()) return limit;
    if (limit < kUnlimited / 1000) return limit * 1000 / slow_[worker];
    const __int128 budget = static_cast<__int128>(limit) * 1000 / slow_[worker];
    return budget < kUnlimited ? static_cast<std::int64_t>(budget) : kUnlimited;
  }
  std::int64_t seats(int worker, std::int64_t limit) const {
    return additive() || per_expert_ == 0 ? kUnlimited : room(worker, limit) / per_expert_;
  }
  std::int64_t tiles_in(std::int64_t room) const { return per_tile_ == 0 ? kUnlimited : room / per_tile_; }
  // Most tiles under `limit` with so many experts activated; -1 when those alone exceed it.
  std::int64_t capacity(int worker, std::int64_t limit, std::int64_t active) const {
    const std::int64_t budget = room(worker, limit);
    if (budget < per_expert_ * active) return -1;
    return tiles_in(budget - setup() * active);
  }
  std::int64_t load_of(int worker, std::int64_t tiles, std::int64_t active) const;

  // The state.
  std::int64_t part(int id) const { return (*parts_)[id]; }
  std::int64_t tiles(int worker) const { return tiles_[worker]; }
  std::int64_t active(int worker) const { return active_[worker]; }
  std::int64_t load(int worker) const { return load_[worker]; }
  std::span<const std::int64_t> loads() const { return load_; }
  int busiest() const;
  std::int64_t max_load() const { return load_[busiest()]; }
  std::int64_t after(int worker, std::int64_t more_tiles, std::int64_t more_active) const {
    if (plain_) return load_[worker] + per_tile_ * more_tiles + per_expert_ * more_active;
    return load_of(worker, tiles_[worker] + more_tiles, active_[worker] + more_active);
  }
  void put(int id, std::int64_t tiles) { change(id, tiles); }
  void shift(int from, int to, std::int64_t tiles) {
    change(from, -tiles);
    change(to, tiles);
  }
  void move(int from, int to, std::int64_t tiles) {  // a shift that rewind() takes back
    trail_.push_back({from, to, tiles});
    shift(from, to, tiles);
  }
  std::size_t mark() const { return trail_.size(); }
  void rewind(std::size_t mark);
  void clear_trail() { trail_.clear(); }
  struct Saved {
    std::vector<std::int64_t> parts, tiles, active, load;
  };
  void save(Saved& to) const;
  void restore(const Saved& from);

 private:
  struct Step {
    int from, to;
    std::int64_t tiles;
  };
  void read_rule(const SplitProblem& problem);
  void list_movable();
  void list_experts(bool put);
  void change(int id, std::int64_t tiles) {
    std::int64_t& part = (*parts_)[id];
    const int worker = replicas_->worker(id);
    const std::int64_t was = part > 0;
    part += tiles;
    const std::int64_t more = (part > 0) - was;
    tiles_[worker] += tiles;
    active_[worker] += more;
    if (plain_) load_[worker] += per_tile_ * tiles + per_expert_ * more;
    else load_[worker] = load_of(worker, tiles_[worker], active_[worker]);
  }

  const ReplicaTable* replicas_ = nullptr;
  std::span<const std::int64_t> demand_;
  std::vector<std::int64_t>* parts_ = nullptr;
  std::int64_t per_tile_ = 1, per_expert_ = 0, total_tiles_ = 0;
  LoadRule rule_ = LoadRule::additive;
  bool plain_ = true;
  int active_experts_ = 0, most_active_ = 0;
  std::vector<std::int64_t> slow_;  // thousandths by worker; empty = all alike
  std::vector<std::int64_t> tiles_, active_, load_, pinned_tiles_, pinned_active_;
  std::vector<int> free_experts_, movable_first_, movable_;
  std::vector<Step> trail_;
};

inline int Loads::busiest() const {
  int best = 0;
  for (int w = 1; w < static_cast<int>(load_.size()); ++w)
    if (load_[w] > load_[best]) best = w;
  return best;
}

}  // namespace afore::placement::exact
