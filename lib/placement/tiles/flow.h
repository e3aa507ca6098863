#pragma once
// A target's tiles on the replicas of one layer, and the residual paths between its workers: the working state of
// every search of this folder. Replica ids are ReplicaTable's; copies made by a search get the ids that follow.
// Hall's theorem: T* = max over worker sets S of ceil(D(S)/|S|) (docs/metrics.md "lower bounds").
#include <cstdint>
#include <span>
#include <vector>

#include "placement/tiles/standing.h"

namespace afore::placement::tiles {

class Flow {
 public:
  static constexpr int kNone = -1;

  // All work on the first replicas, whose loads the caller has summed. No copies. Both spans must outlive the use.
  void reset(const Standing& standing, std::span<const Tiles> tiles, std::span<const Tiles> home_load);
  // As reset, but the copies made so far stay.
  void restart(std::span<const Tiles> home_load);

  int workers() const { return static_cast<int>(load_.size()); }
  int experts() const { return static_cast<int>(tiles_.size()); }
  Tiles tiles(int expert) const { return tiles_[expert]; }
  Tiles load(int worker) const { return load_[worker]; }
  std::span<const Tiles> loads() const { return load_; }
  int fullest() const;
  int worker(int id) const { return worker_[id]; }
  int expert(int id) const { return expert_[id]; }
  Tiles part(int id) const { return multi_[expert_[id]] ? part_[id] : tiles_[expert_[id]]; }
  bool alive(int id) const { return alive_[id] != 0; }
  std::span<const std::uint8_t> several() const { return multi_; }  // by expert: more than one replica in this plan
  const Standing& standing() const { return *standing_; }
  bool holds(int expert, int worker) const;
  int copies() const { return static_cast<int>(worker_.size()) - standing_count_; }
  int copy_id(int nth) const { return standing_count_ + nth; }

  // Visits the replicas of an expert / those on a worker of experts with several, until `visit` returns true.
  template <class Visit>
  bool of_expert(int expert, Visit visit) const {
    for (int id = standing_->table.first(expert), end = id + standing_->table.count(expert); id < end; ++id)
      if (alive_[id] && visit(id)) return true;
    for (int id = extra_of_expert_[expert]; id >= 0; id = next_of_expert_[id])
      if (visit(id)) return true;
    return false;
  }
  template <class Visit>
  bool on_worker(int worker, Visit visit) const {
    for (const int id : standing_->movable(worker))
      if (alive_[id] && visit(id)) return true;
    for (int id = extra_on_worker_[worker]; id >= 0; id = next_on_worker_[id])
      if (visit(id)) return true;
    return false;
  }

  void move(int from, int to, Tiles amount) {
    part_[from] -= amount;
    part_[to] += amount;
    load_[worker_[from]] -= amount;
    load_[worker_[to]] += amount;
  }
  // Excess over `limit` straight to other holders of what the workers have; first to those that one worker alone wants.
  void push_all(Tiles limit);
  // Lowers a worker towards `limit` by residual paths to workers below it. False: it stays above, and then reached() is
  // closed: all work on it is confined to it, and all its loads are at least `limit`.
  bool lower(int worker, Tiles limit);
  // The same, not entering workers that this found closed under the same limit since the last open_all(). Then all that
  // it found closed is one closed set.
  bool lower_open(int worker, Tiles limit);
  void open_all();
  bool closed(int worker) const { return has(closed_.data(), worker); }
  std::span<const int> reached() const { return std::span(queue_).first(queued_); }
  bool in_reached(int worker) const { return has(seen_.data(), worker); }  // after lower()

  int add(int expert, int worker);  // the id; the worker does not hold it
  void drop_copy();                 // the last one; holds no work
  void retire(int id);              // a standing one without work
  void revive(int id);
  void drop_copies();  // all, wherever their work

  // Work of all replicas, loads and what is closed(), not which copies there are.
  struct Saved {
    std::vector<Tiles> part, load;
    std::vector<std::uint64_t> closed;
  };
  void save(Saved& saved) const;
  void restore(const Saved& saved);

 private:
  using Word = std::uint64_t;  // sets of workers, a bit each
  static bool has(const Word* set, int worker) { return (set[worker / 64] >> (worker % 64) & 1) != 0; }
  static void flip(Word* set, int worker) { set[worker / 64] ^= Word{1} << (worker % 64); }
  Word* holders(int expert) { return holders_.data() + static_cast<std::size_t>(expert) * words_; }

  void bind(const Standing& standing);
  int id_of(int expert, int worker) const;
  template <bool kOpenOnly>
  bool walk(int worker, Tiles limit);
  bool send(int worker, int sink, Tiles limit);
  bool used_up(int worker, int at) const;
  void push(int worker, Tiles limit, int most_suitors);

  const Standing* standing_ = nullptr;
  std::uint64_t version_ = 0;
  int standing_count_ = 0;
  std::span<const Tiles> tiles_;
  std::vector<Tiles> part_, load_;
  std::vector<int> worker_, expert_;
  std::vector<std::uint8_t> alive_, multi_;
  std::vector<int> extra_of_expert_, next_of_expert_, extra_on_worker_, next_on_worker_;
  int words_ = 0;
  std::vector<Word> holders_, seen_, closed_;  // of each expert's living replicas; of the last walk; found closed
  std::vector<int> queue_, from_;              // workers in the order reached, and the replica each was reached from
  int queued_ = 0;
  std::vector<int> suitors_;  // by worker: how many replicas there could take excess
};

}  // namespace afore::placement::tiles
