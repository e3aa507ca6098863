#include "placement/director/link_balance.h"

#include <algorithm>

namespace afore::placement::director {
namespace {

constexpr int kMostMoves = 256;

class Balance {
 public:
  Balance(const Instance& instance, const ReplicaTable& replicas, std::vector<std::int64_t>& parts)
      : in_(instance),
        replicas_(replicas),
        parts_(parts),
        tiles_(instance.workers(), 0),
        active_(instance.workers(), 0),
        rows_(instance.workers(), 0) {
    for (const int e : in_.active()) add(e, 1);
  }

  std::int64_t objective() const {
    std::int64_t compute = 0;
    for (int w = 0; w < in_.workers(); ++w) compute = std::max(compute, in_.load(w, tiles_[w], active_[w]));
    return compute + in_.communication(*std::max_element(rows_.begin(), rows_.end()));
  }

  bool step() {
    int busiest = 0;
    for (int w = 0; w < in_.workers(); ++w)
      if (in_.load(w, tiles_[w], active_[w]) > in_.load(busiest, tiles_[busiest], active_[busiest])) busiest = w;
    const int fullest = static_cast<int>(std::max_element(rows_.begin(), rows_.end()) - rows_.begin());
    best_ = objective();
    from_ = -1;
    consider(busiest);
    if (fullest != busiest) consider(fullest);
    if (from_ < 0) return false;
    move(from_, to_, count_);
    return true;
  }

 private:
  void add(int expert, int sign) {
    std::int64_t left = in_.counts()[expert];
    const int first = replicas_.first(expert);
    for (int id = replicas_.first(expert + 1) - 1; id >= first; --id) {
      const int w = replicas_.worker(id);
      tiles_[w] += sign * parts_[id];
      active_[w] += sign * (parts_[id] > 0);
    }
    for (int id = first + 1; id < replicas_.first(expert + 1); ++id) {
      const std::int64_t rows = std::min(left, parts_[id] * in_.cost().tile_tokens);
      rows_[replicas_.worker(id)] += sign * rows;
      left -= rows;
    }
    rows_[replicas_.worker(first)] += sign * left;
  }

  void move(int from, int to, std::int64_t count) {
    const int expert = replicas_.expert(from);
    add(expert, -1);
    parts_[from] -= count;
    parts_[to] += count;
    add(expert, 1);
  }

  void consider(int worker) {
    for (const int from : replicas_.of_worker(worker)) {
      const int e = replicas_.expert(from);
      for (int to = replicas_.first(e); to < replicas_.first(e + 1) && parts_[from] > 0; ++to) {
        if (to == from) continue;
        for (const std::int64_t count : {parts_[from], (parts_[from] + 1) / 2, std::int64_t{1}}) {
          move(from, to, count);
          const std::int64_t now = objective();
          move(to, from, count);
          if (now >= best_) continue;
          best_ = now;
          from_ = from;
          to_ = to;
          count_ = count;
        }
      }
    }
  }

  const Instance& in_;
  const ReplicaTable& replicas_;
  std::vector<std::int64_t>& parts_;
  std::vector<std::int64_t> tiles_, active_, rows_;
  std::int64_t best_ = 0, count_ = 0;
  int from_ = -1, to_ = -1;
};

}  // namespace

std::int64_t balance_with_link(const Instance& instance, const ReplicaTable& replicas,
                               std::vector<std::int64_t>& parts) {
  Balance balance(instance, replicas, parts);
  for (int i = 0; i < kMostMoves && balance.step(); ++i) {
  }
  return balance.objective();
}

}  // namespace afore::placement::director
