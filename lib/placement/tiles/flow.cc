#include "placement/tiles/flow.h"

#include <algorithm>
#include <bit>

namespace afore::placement::tiles {

void Flow::bind(const Standing& standing) {
  const ReplicaTable& table = standing.table;
  standing_ = &standing;
  version_ = standing.version;
  standing_count_ = table.replicas();
  worker_.resize(standing_count_);
  expert_.resize(standing_count_);
  for (int id = 0; id < standing_count_; ++id) {
    worker_[id] = table.worker(id);
    expert_[id] = table.expert(id);
  }
  part_.assign(standing_count_, 0);
  alive_.assign(standing_count_, 1);
  next_of_expert_.assign(standing_count_, kNone);
  next_on_worker_.assign(standing_count_, kNone);
  multi_.assign(table.experts(), 0);
  for (const int expert : table.replicated()) multi_[expert] = 1;
  extra_of_expert_.assign(table.experts(), kNone);
  extra_on_worker_.assign(table.workers(), kNone);
  load_.resize(table.workers());
  queue_.resize(table.workers());
  from_.resize(table.workers());
  suitors_.resize(table.workers());
  words_ = (table.workers() + 63) / 64;
  seen_.assign(words_, 0);
  closed_.assign(words_, 0);
  holders_.assign(static_cast<std::size_t>(table.experts()) * words_, 0);
  for (int id = 0; id < standing_count_; ++id) flip(holders(expert_[id]), worker_[id]);
}

void Flow::open_all() { std::fill(closed_.begin(), closed_.end(), 0); }

void Flow::retire(int id) {
  alive_[id] = 0;
  flip(holders(expert_[id]), worker_[id]);
}

void Flow::revive(int id) {
  alive_[id] = 1;
  flip(holders(expert_[id]), worker_[id]);
}

void Flow::reset(const Standing& standing, std::span<const Tiles> tiles, std::span<const Tiles> home_load) {
  if (standing_ != &standing || version_ != standing.version) bind(standing);
  else if (copies() > 0) drop_copies();
  tiles_ = tiles;
  restart(home_load);
}

void Flow::restart(std::span<const Tiles> home_load) {
  std::copy(home_load.begin(), home_load.end(), load_.begin());
  const ReplicaTable& table = standing_->table;
  for (const int expert : table.replicated()) {
    const int first = table.first(expert);
    part_[first] = tiles_[expert];
    std::fill_n(part_.begin() + first + 1, table.count(expert) - 1, 0);
  }
  for (int id = standing_count_; id < static_cast<int>(worker_.size()); ++id) {
    part_[id] = 0;
    part_[table.first(expert_[id])] = tiles_[expert_[id]];
  }
}

// In two loops: the first without branches.
int Flow::fullest() const {
  Tiles most = 0;
  for (const Tiles load : load_) most = std::max(most, load);
  return static_cast<int>(std::find(load_.begin(), load_.end(), most) - load_.begin());
}

bool Flow::holds(int expert, int worker) const {
  // Retired ones count: what a plan evicts it does not bring back.
  for (int id = standing_->table.first(expert), end = id + standing_->table.count(expert); id < end; ++id)
    if (worker_[id] == worker) return true;
  for (int id = extra_of_expert_[expert]; id >= 0; id = next_of_expert_[id])
    if (worker_[id] == worker) return true;
  return false;
}

void Flow::push_all(Tiles limit) {
  std::fill(suitors_.begin(), suitors_.end(), 0);
  for (int worker = 0; worker < workers(); ++worker) {
    if (load_[worker] <= limit) continue;
    on_worker(worker, [&](int from) {
      if (part_[from] == 0) return false;
      return of_expert(expert_[from], [&](int to) {
        ++suitors_[worker_[to]];
        return false;
      });
    });
  }
  for (const int most_suitors : {1, workers()})
    for (int worker = 0; worker < workers(); ++worker)
      if (load_[worker] > limit) push(worker, limit, most_suitors);
}

void Flow::push(int worker, Tiles limit, int most_suitors) {
  // One expert that goes whole costs no activation.
  int whole = kNone, there = kNone;
  const Tiles excess = load_[worker] - limit;
  on_worker(worker, [&](int from) {
    const Tiles part = part_[from];
    if (part < excess || part > limit || part == 0 || (whole >= 0 && part >= part_[whole])) return false;
    return of_expert(expert_[from], [&](int to) {
      if (limit - load_[worker_[to]] < part || to == from || suitors_[worker_[to]] > most_suitors) return false;
      whole = from;
      there = to;
      return part == excess;
    });
  });
  if (whole >= 0) return move(whole, there, part_[whole]);
  on_worker(worker, [&](int from) {
    if (part_[from] == 0) return false;
    return of_expert(expert_[from],
                     [&](int to) {
                       const Tiles amount = std::min({limit - load_[worker_[to]], load_[worker] - limit, part_[from]});
                       if (amount > 0 && to != from && suitors_[worker_[to]] <= most_suitors) move(from, to, amount);
                       return load_[worker] <= limit || part_[from] == 0;
                     }) &&
           load_[worker] <= limit;
  });
}

int Flow::id_of(int expert, int worker) const {
  int found = kNone;
  of_expert(expert, [&](int id) {
    if (worker_[id] == worker) found = id;
    return found >= 0;
  });
  return found;
}

// Along the path that reached `sink`; false: a step of it has no work left.
bool Flow::send(int worker, int sink, Tiles limit) {
  Tiles amount = std::min(load_[worker] - limit, limit - load_[sink]);
  for (int at = sink; at != worker; at = worker_[from_[at]]) amount = std::min(amount, part_[from_[at]]);
  if (amount == 0) return false;
  for (int at = sink; at != worker;) {
    const int from = from_[at];
    move(from, id_of(expert_[from], at), amount);
    at = worker_[from];
  }
  return true;
}

// Whether a step of the path that reached `at` has no work left.
bool Flow::used_up(int worker, int at) const {
  for (; at != worker; at = worker_[from_[at]])
    if (part_[from_[at]] == 0) return true;
  return false;
}

// Breadth first, and on after each sink: what a step sends leaves no new way out of the workers seen, since all holders
// of its expert were seen with it. Only a sink that was missed, its path used up, needs another walk.
template <bool kOpenOnly>
bool Flow::walk(int worker, Tiles limit) {
  bool missed = true;
  while (missed) {
    missed = false;
    bool sent = false;
    if (kOpenOnly) std::copy(closed_.begin(), closed_.end(), seen_.begin());
    else std::fill(seen_.begin(), seen_.end(), 0);
    queue_[0] = worker;
    queued_ = 1;
    flip(seen_.data(), worker);
    for (int head = 0; head < queued_; ++head) {
      const int found = queued_;
      if (sent && used_up(worker, queue_[head])) {
        missed = true;
        continue;
      }
      bool sinks = false;
      const auto reach = [&](int from) {
        const Word* const there = holders(expert_[from]);
        for (int k = 0; k < words_; ++k) {
          Word fresh = there[k] & ~seen_[k];
          seen_[k] |= fresh;
          for (; fresh != 0; fresh &= fresh - 1) {
            const int target = 64 * k + std::countr_zero(fresh);
            from_[target] = from;
            queue_[queued_++] = target;
            sinks = sinks || load_[target] < limit;
          }
        }
      };
      for (const int from : standing_->movable(queue_[head]))  // retired ones have no work
        if (part_[from] > 0) reach(from);
      for (int from = extra_on_worker_[queue_[head]]; from >= 0; from = next_on_worker_[from])
        if (part_[from] > 0) reach(from);
      // Of the neighbours the emptiest first: rooms stay even.
      while (sinks) {
        int sink = kNone;
        for (int i = found; i < queued_; ++i)
          if (load_[queue_[i]] < limit && (sink < 0 || load_[queue_[i]] < load_[sink])) sink = queue_[i];
        if (sink < 0) break;
        if (!send(worker, sink, limit) || load_[sink] < limit) {
          missed = load_[worker] > limit;
          sinks = false;
        }
        if (load_[worker] <= limit) return true;
        sent = true;
      }
    }
  }
  return false;
}

bool Flow::lower(int worker, Tiles limit) { return load_[worker] <= limit || walk<false>(worker, limit); }

bool Flow::lower_open(int worker, Tiles limit) {
  if (load_[worker] <= limit || walk<true>(worker, limit)) return true;
  std::copy(seen_.begin(), seen_.end(), closed_.begin());
  return false;
}

int Flow::add(int expert, int worker) {
  const int id = static_cast<int>(worker_.size());
  worker_.push_back(worker);
  expert_.push_back(expert);
  part_.push_back(0);
  alive_.push_back(1);
  next_of_expert_.push_back(extra_of_expert_[expert]);
  extra_of_expert_[expert] = id;
  flip(holders(expert), worker);
  if (multi_[expert] == 0) {  // its only replica starts to take part in paths
    const int home = standing_->table.first(expert);
    multi_[expert] = 1;
    part_[home] = tiles_[expert];
    next_on_worker_[home] = extra_on_worker_[worker_[home]];
    extra_on_worker_[worker_[home]] = home;
  }
  next_on_worker_.push_back(extra_on_worker_[worker]);
  extra_on_worker_[worker] = id;
  return id;
}

void Flow::drop_copy() {
  const int id = static_cast<int>(worker_.size()) - 1, expert = expert_[id];
  extra_of_expert_[expert] = next_of_expert_[id];
  flip(holders(expert), worker_[id]);
  extra_on_worker_[worker_[id]] = next_on_worker_[id];
  if (extra_of_expert_[expert] < 0 && standing_->table.count(expert) == 1) {
    const int home = standing_->table.first(expert);
    multi_[expert] = 0;
    extra_on_worker_[worker_[home]] = next_on_worker_[home];
    next_on_worker_[home] = kNone;
  }
  worker_.pop_back();
  expert_.pop_back();
  part_.pop_back();
  alive_.pop_back();
  next_of_expert_.pop_back();
  next_on_worker_.pop_back();
}

void Flow::drop_copies() {
  while (copies() > 0) drop_copy();
  for (int id = 0; id < standing_count_; ++id)
    if (alive_[id] == 0) revive(id);
}

void Flow::save(Saved& saved) const {
  saved.part.assign(part_.begin(), part_.end());
  saved.load.assign(load_.begin(), load_.end());
  saved.closed.assign(closed_.begin(), closed_.end());
}

void Flow::restore(const Saved& saved) {
  std::copy_n(saved.part.begin(), std::min(saved.part.size(), part_.size()), part_.begin());
  std::fill(part_.begin() + std::min(saved.part.size(), part_.size()), part_.end(), 0);
  std::copy(saved.load.begin(), saved.load.end(), load_.begin());
  std::copy(saved.closed.begin(), saved.closed.end(), closed_.begin());
}

}  // namespace afore::placement::tiles
