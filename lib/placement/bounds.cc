#include "placement/bounds.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace afore::placement {
namespace {

// Prefixes beyond this many workers are tried only without copies, where all cost one pass together.
constexpr int kPrefixesWithCopies = 48;

// Smallest value in [low, high] that passes a monotone test; `high` is known to pass.
template <class Test>
std::int64_t least(std::int64_t low, std::int64_t high, Test passes) {
  if (low >= high || passes(low)) return low;
  std::int64_t step = 1;
  std::int64_t fails = low;
  while (fails + step < high && !passes(fails + step)) {
    fails += step;
    step *= 2;
  }
  high = std::min(high, fails + step);
  while (high - fails > 1) {
    const std::int64_t middle = fails + (high - fails) / 2;
    if (passes(middle)) high = middle;
    else fails = middle;
  }
  return high;
}

}  // namespace

void Bounds::gather(const Board& board, const LoadForm& form) {
  const int workers = board.workers();
  volume_ = 0;
  pinned_.assign(workers, 0);
  first_.assign(workers + 1, 0);
  confined_.clear();
  for (int expert = 0; expert < board.experts(); ++expert) {
    if (board.demand(expert) == 0) continue;
    const std::int64_t load = form.whole(board.demand(expert));
    volume_ += load;
    if (board.holders(expert) > 1) continue;
    const int worker = board.replica(board.primary(expert)).worker;
    pinned_[worker] += load;
    ++first_[worker + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  confined_.resize(first_.back());
  next_.assign(first_.begin(), first_.end() - 1);
  for (int expert = 0; expert < board.experts(); ++expert)
    if (board.demand(expert) > 0 && board.holders(expert) == 1)
      confined_[next_[board.replica(board.primary(expert)).worker]++] = form.whole(board.demand(expert));
}

// LB1: the hottest experts X stand on at most sum r_e + K workers. Any X is valid; heads of the list by load per
// holder and by load are tried.
std::int64_t Bounds::hot_sets(const Board& board, const LoadForm& form, const CopyRoom& room) {
  // Every expert has a holder: only so many of them leave a worker that cannot hold any.
  const std::int64_t most = board.workers() - 1 - room.copies;
  if (most < 1) return 0;
  experts_.clear();
  for (int expert = 0; expert < board.experts(); ++expert)
    if (board.demand(expert) > 0) experts_.push_back(expert);
  const auto end = experts_.begin() + std::min<std::ptrdiff_t>(most, std::ssize(experts_));
  std::partial_sort(experts_.begin(), end, experts_.end(), [&](int a, int b) {
    const std::int64_t left = form.whole(board.demand(a)) * board.holders(b);
    const std::int64_t right = form.whole(board.demand(b)) * board.holders(a);
    return left != right ? left > right : a < b;
  });
  experts_.erase(end, experts_.end());
  std::int64_t best = 0, load = 0, holders = room.copies;
  for (const int expert : experts_) {
    load += form.whole(board.demand(expert));
    holders += board.holders(expert);
    if (holders >= board.workers()) break;
    best = std::max(best, ceil_div(load, holders));
  }
  return best;
}

// LB2 on workers sorted by pinned load. One copy into a slot outside S unconfines at most one expert.
std::int64_t Bounds::prefixes(const Board& board, const LoadForm& form, const CopyRoom& room, std::int64_t bound) {
  const int workers = board.workers();
  order_.resize(workers);
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(),
            [&](int a, int b) { return pinned_[a] != pinned_[b] ? pinned_[a] > pinned_[b] : a < b; });
  rank_.resize(workers);
  for (int i = 0; i < workers; ++i) rank_[order_[i]] = i;
  // Experts become confined at the rank of their last holder.
  add_.assign(workers, 0);
  last_.assign(board.experts(), -1);
  for (int expert = 0; expert < board.experts(); ++expert) {
    if (board.demand(expert) == 0) continue;
    for (const int id : board.of_expert(expert))
      if (board.replica(id).alive) last_[expert] = std::max(last_[expert], rank_[board.replica(id).worker]);
    add_[last_[expert]] += form.whole(board.demand(expert));
  }
  const int tried = room.copies > 0 ? std::min(workers, kPrefixesWithCopies) : workers;
  std::int64_t load = 0, best = bound, outside = room.total;
  for (int i = 0; i < tried; ++i) {
    load += add_[i];
    outside -= room.copies > 0 ? room.per_worker[order_[i]] : 0;
    if (ceil_div(load, i + 1) <= best) continue;
    const std::int64_t copies = std::min(room.copies, outside);
    std::int64_t left = load;
    if (copies > 0) {
      pool_.clear();
      for (int expert = 0; expert < board.experts(); ++expert)
        if (last_[expert] >= 0 && last_[expert] <= i) pool_.push_back(form.whole(board.demand(expert)));
      if (static_cast<std::int64_t>(pool_.size()) <= copies) continue;
      std::nth_element(pool_.begin(), pool_.begin() + copies, pool_.end(), std::greater<>());
      left -= std::accumulate(pool_.begin(), pool_.begin() + copies, std::int64_t{0});
    }
    if (ceil_div(left, i + 1) <= best) continue;
    best = ceil_div(left, i + 1);
    cut_.assign(order_.begin(), order_.begin() + i + 1);
  }
  return best;
}

std::int64_t Bounds::cut_bound(const Board& board, const LoadForm& form, const CopyRoom& room,
                               std::span<const int> cut) {
  if (cut.empty()) return 0;
  inside_.assign(board.workers(), 0);
  std::int64_t outside = room.total;
  for (const int worker : cut) {
    inside_[worker] = 1;
    if (room.copies > 0) outside -= room.per_worker[worker];
  }
  pool_.clear();
  for (int expert = 0; expert < board.experts(); ++expert) {
    if (board.demand(expert) == 0) continue;
    const auto ids = board.of_expert(expert);
    if (std::all_of(ids.begin(), ids.end(),
                    [&](int id) { return !board.replica(id).alive || inside_[board.replica(id).worker]; }))
      pool_.push_back(form.whole(board.demand(expert)));
  }
  const std::int64_t copies = std::min<std::int64_t>(std::min(room.copies, outside), std::ssize(pool_));
  std::nth_element(pool_.begin(), pool_.begin() + copies, pool_.end(), std::greater<>());
  const std::int64_t left = std::accumulate(pool_.begin() + copies, pool_.end(), std::int64_t{0});
  return ceil_div(left, std::ssize(cut));
}

// LB3: workers are disjoint, and one copy unconfines one expert of one worker.
std::int64_t Bounds::copy_count(const CopyRoom& room, std::int64_t bound) {
  const std::int64_t top = *std::max_element(pinned_.begin(), pinned_.end());
  if (top <= bound) return bound;
  if (room.copies == 0) return top;
  for (std::size_t worker = 0; worker < pinned_.size(); ++worker)
    if (pinned_[worker] > bound)
      std::sort(confined_.begin() + first_[worker], confined_.begin() + first_[worker + 1], std::greater<>());
  return least(bound, top, [&](std::int64_t limit) {
    std::int64_t copies = room.copies;
    for (std::size_t worker = 0; worker < pinned_.size(); ++worker) {
      std::int64_t excess = pinned_[worker] - limit;
      std::int64_t outside = room.copies > 0 ? room.total - room.per_worker[worker] : 0;
      for (int i = first_[worker]; excess > 0; ++i) {
        if (i == first_[worker + 1] || copies-- == 0 || outside-- == 0) return false;
        excess -= confined_[i];
      }
    }
    return true;
  });
}

// An expert needs as many parts as its holders' room forces; each part activates it once more. Without copies a
// holder's room is what its pinned experts leave; a copy may unpin any of them, so with copies it is everything.
bool Bounds::parts_fit(const Board& board, const LoadForm& form, const CopyRoom& room, std::int64_t limit) {
  std::int64_t total = volume_;
  const std::int64_t whole_room = form.tiles_within(limit - form.per_expert);
  for (int expert = 0; expert < board.experts(); ++expert) {
    const std::int64_t tiles = board.demand(expert);
    if (tiles == 0) continue;
    std::int64_t parts = 1;
    if (room.copies > 0 || board.holders(expert) == 1) {
      // A pinned expert is part of pinned_, which other bounds compare with the limit.
      if (whole_room < 1) return false;
      parts = ceil_div(tiles, whole_room);
      if (parts > std::min<std::int64_t>(board.workers(), board.holders(expert) + room.copies)) return false;
    } else {
      room_.clear();
      for (const int id : board.of_expert(expert))
        if (board.replica(id).alive)
          room_.push_back(form.tiles_within(limit - pinned_[board.replica(id).worker] - form.per_expert));
      std::sort(room_.begin(), room_.end(), std::greater<>());
      std::int64_t left = tiles;
      parts = 0;
      for (const std::int64_t tiles_there : room_) {
        if (left <= 0) break;
        left -= tiles_there;
        ++parts;
      }
      if (left > 0) return false;
    }
    total += (parts - 1) * form.per_expert;
  }
  return total <= limit * board.workers();
}

std::int64_t Bounds::forced_parts(const Board& board, const LoadForm& form, const CopyRoom& room, std::int64_t bound) {
  // Everything on one worker passes.
  return least(bound, std::max(bound, volume_),
               [&](std::int64_t limit) { return parts_fit(board, form, room, limit); });
}

std::int64_t Bounds::lower_bound(const Board& board, const LoadForm& form, const CopyRoom& room,
                                 std::span<const int> cut) {
  cut_.clear();
  gather(board, form);
  std::int64_t bound = ceil_div(volume_, board.workers());
  // Cuts before the rest: where several bounds agree, the cut is the proof a reader can check by hand. A given one
  // first: it is usually the split's own certificate, and then no prefix beats it.
  if (const std::int64_t given = cut_bound(board, form, room, cut); given > bound) {
    bound = given;
    cut_.assign(cut.begin(), cut.end());
  }
  bound = prefixes(board, form, room, bound);
  const std::int64_t by_cut = bound;
  bound = std::max(bound, hot_sets(board, form, room));
  bound = copy_count(room, bound);
  if (room.copies > 0 || form.per_expert > 0) bound = forced_parts(board, form, room, bound);
  if (bound > by_cut) cut_.clear();
  std::sort(cut_.begin(), cut_.end());
  return bound;
}

namespace {

// `bound` is of a load form over equal workers. No worker is faster than the fastest, and a load grows with its work.
template <class Bound>
std::int64_t by_rule(const LayerCost& cost, std::span<const WorkerTraits> traits, std::int64_t tiles,
                     std::int64_t experts, int workers, const Bound& bound) {
  const std::int64_t work = cost.rule == LoadRule::additive
                                ? bound(LoadForm{cost.c1_ns, cost.c2_ns})
                                : std::max(bound(LoadForm{cost.c1_ns, 0}), bound(LoadForm{0, cost.c2_ns}));
  if (traits.empty()) return work;
  const auto fastest = std::min_element(traits.begin(), traits.end(), [](const WorkerTraits& a, const WorkerTraits& b) {
    return a.slowdown_permille < b.slowdown_permille;
  });
  return std::max(ceil_div(work * fastest->slowdown_permille, 1000),
                  slowed_volume(cost.load_ns(tiles, experts), workers, traits));
}

}  // namespace

std::int64_t Bounds::time_bound(const Board& board, const LayerCost& cost, std::span<const WorkerTraits> traits,
                                const CopyRoom& room) {
  std::int64_t tiles = 0, experts = 0;
  for (int expert = 0; expert < board.experts(); ++expert) {
    tiles += board.demand(expert);
    experts += board.demand(expert) > 0;
  }
  return by_rule(cost, traits, tiles, experts, board.workers(),
                 [&](const LoadForm& form) { return lower_bound(board, form, room, {}); });
}

std::int64_t Bounds::time_everywhere(std::span<const std::int64_t> tiles, int workers, const LayerCost& cost,
                                     std::span<const WorkerTraits> traits) {
  std::int64_t all = 0, experts = 0;
  for (const std::int64_t count : tiles) {
    all += count;
    experts += count > 0;
  }
  return by_rule(cost, traits, all, experts, workers,
                 [&](const LoadForm& form) { return everywhere(tiles, workers, form); });
}

std::int64_t Bounds::everywhere(std::span<const std::int64_t> tiles, int workers, const LoadForm& form) {
  std::int64_t volume = 0;
  for (const std::int64_t count : tiles) volume += form.whole(count);
  const std::int64_t floor = ceil_div(volume, workers);
  if (form.per_expert == 0) return floor;
  return least(floor, std::max(floor, volume), [&](std::int64_t limit) {
    const std::int64_t room = form.tiles_within(limit - form.per_expert);
    std::int64_t total = volume;
    for (const std::int64_t count : tiles) {
      if (count == 0) continue;
      if (room < 1) return false;
      const std::int64_t parts = ceil_div(count, room);
      if (parts > workers) return false;
      total += (parts - 1) * form.per_expert;
    }
    return total <= limit * workers;
  });
}

}  // namespace afore::placement
