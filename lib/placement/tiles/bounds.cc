#include "placement/tiles/bounds.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace afore::placement::tiles {
namespace {

constexpr int kAllCuts = 4;  // workers up to which every cut is tried
constexpr int kFewCopies = 8;
constexpr int kPrefixes = 64;  // cuts by confined load tried where copies are allowed

}  // namespace

void TileBounds::gather(const Flow& flow) {
  const ReplicaTable& table = flow.standing().table;
  confined_.assign(flow.workers(), 0);
  first_.assign(flow.workers() + 1, 0);
  experts_.clear();
  for (int expert = 0; expert < flow.experts(); ++expert) {
    if (flow.tiles(expert) == 0) continue;
    experts_.push_back(expert);
    if (table.count(expert) > 1) continue;
    const int worker = table.worker(table.first(expert));
    confined_[worker] += flow.tiles(expert);
    ++first_[worker + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  pieces_.resize(first_.back());
  next_.assign(first_.begin(), first_.end() - 1);
  for (const int expert : experts_)
    if (table.count(expert) == 1) pieces_[next_[table.worker(table.first(expert))]++] = flow.tiles(expert);
}

// `total` of the pool less its largest members, as many as there are copies.
std::int64_t TileBounds::without_largest(std::int64_t total, int copies) {
  if (copies >= static_cast<int>(pool_.size())) return 0;
  if (copies == 0) return total;
  std::array<Tiles, kFewCopies> largest{};
  if (copies <= kFewCopies) {  // one pass, the smallest of the largest kept last
    for (const Tiles tiles : pool_) {
      if (tiles <= largest[copies - 1]) continue;
      int at = copies - 1;
      for (; at > 0 && largest[at - 1] < tiles; --at) largest[at] = largest[at - 1];
      largest[at] = tiles;
    }
    return total - std::accumulate(largest.begin(), largest.begin() + copies, std::int64_t{0});
  }
  std::nth_element(pool_.begin(), pool_.begin() + copies, pool_.end(), std::greater<>());
  return total - std::accumulate(pool_.begin(), pool_.begin() + copies, std::int64_t{0});
}

// One copy into a slot outside the set takes at most one confined expert out of it; a copy into the set takes none.
void TileBounds::try_cut(const Flow& flow, const Room& room, std::span<const int> workers) {
  if (workers.empty()) return;
  inside_.assign(flow.workers(), 0);
  int outside = room.total;
  for (const int worker : workers) {
    inside_[worker] = 1;
    outside -= room.open[worker];
  }
  pool_.clear();
  std::int64_t total = 0;
  const ReplicaTable& table = flow.standing().table;
  for (const Standing::Run& run : flow.standing().runs) {
    if (inside_[run.worker] == 0) continue;
    for (int expert = run.begin; expert < run.end; ++expert) {
      if (flow.tiles(expert) == 0) continue;
      bool confined = true;
      for (int id = table.first(expert) + 1, end = table.first(expert + 1); confined && id < end; ++id)
        confined = inside_[table.worker(id)] != 0;
      if (!confined) continue;
      pool_.push_back(flow.tiles(expert));
      total += flow.tiles(expert);
    }
  }
  const std::int64_t left = without_largest(total, std::min(room.copies, outside));
  const auto bound = static_cast<Tiles>(ceil_div(left, std::ssize(workers)));
  if (bound <= bound_) return;
  bound_ = bound;
  cut_.assign(workers.begin(), workers.end());
}

// Workers that hold too little to be filled, even if the largest experts were copied to all of them, leave more to the
// others.
void TileBounds::try_fillable(const Flow& flow, const Room& room) {
  const ReplicaTable& table = flow.standing().table;
  reach_.assign(flow.workers(), 0);
  for (const int expert : experts_)
    for (int id = table.first(expert), end = id + table.count(expert); id < end; ++id)
      reach_[table.worker(id)] += flow.tiles(expert);
  const int most = std::min(*std::max_element(room.open.begin(), room.open.end()), static_cast<int>(experts_.size()));
  pool_.resize(experts_.size());
  std::transform(experts_.begin(), experts_.end(), pool_.begin(), [&](int expert) { return flow.tiles(expert); });
  std::partial_sort(pool_.begin(), pool_.begin() + most, pool_.end(), std::greater<>());
  for (int worker = 0; worker < flow.workers(); ++worker)
    reach_[worker] = std::accumulate(pool_.begin(), pool_.begin() + std::min(most, room.open[worker]), reach_[worker]);
  Tiles tried = -1;
  while (bound_ > tried) {
    tried = bound_;
    closed_.clear();
    for (int worker = 0; worker < flow.workers(); ++worker)
      if (reach_[worker] >= bound_) closed_.push_back(worker);
    if (std::ssize(closed_) < flow.workers()) try_cut(flow, room, closed_);
  }
}

void TileBounds::try_prefixes(const Flow& flow, const Room& room) {
  const int workers = flow.workers();
  order_.resize(workers);
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(),
            [&](int a, int b) { return confined_[a] != confined_[b] ? confined_[a] > confined_[b] : a < b; });
  rank_.resize(workers);
  for (int i = 0; i < workers; ++i) rank_[order_[i]] = i;
  // An expert is confined from the rank of its last holder on.
  const ReplicaTable& table = flow.standing().table;
  last_.assign(flow.experts(), -1);
  holders_.assign(workers, 0);
  for (const int expert : experts_) {
    for (int id = table.first(expert), end = id + table.count(expert); id < end; ++id)
      last_[expert] = std::max(last_[expert], rank_[table.worker(id)]);
    holders_[last_[expert]] += flow.tiles(expert);
  }
  std::int64_t load = 0;
  int outside = room.total;
  for (int i = 0; i < std::min(workers, kPrefixes); ++i) {
    load += holders_[i];
    outside -= room.open[order_[i]];
    if (ceil_div(load, i + 1) <= bound_) continue;
    const int copies = std::min(room.copies, outside);
    std::int64_t left = load;
    if (copies > 0) {
      pool_.clear();
      for (const int expert : experts_)
        if (last_[expert] <= i) pool_.push_back(flow.tiles(expert));
      left = without_largest(load, copies);
    }
    if (ceil_div(left, i + 1) <= bound_) continue;
    bound_ = static_cast<Tiles>(ceil_div(left, i + 1));
    cut_.assign(order_.begin(), order_.begin() + i + 1);
  }
}

void TileBounds::try_all_cuts(const Flow& flow, const Room& room) {
  for (std::uint32_t set = 1; set + 1 < 1u << flow.workers(); ++set) {
    closed_.clear();
    for (int worker = 0; worker < flow.workers(); ++worker)
      if (set >> worker & 1u) closed_.push_back(worker);
    if (closed_.size() > 1) try_cut(flow, room, closed_);  // single workers: count_copies
  }
}

// The hottest experts, by load per holder, stand on at most all their holders and a worker more per copy.
void TileBounds::try_hot_sets(const Flow& flow, const Room& room) {
  const int most = flow.workers() - 1 - room.copies;
  if (most < 1) return;
  const ReplicaTable& table = flow.standing().table;
  const auto end = experts_.begin() + std::min<std::ptrdiff_t>(most, std::ssize(experts_));
  std::partial_sort(experts_.begin(), end, experts_.end(), [&](int a, int b) {
    const std::int64_t left = std::int64_t{flow.tiles(a)} * table.count(b);
    const std::int64_t right = std::int64_t{flow.tiles(b)} * table.count(a);
    return left != right ? left > right : a < b;
  });
  std::int64_t load = 0, holders = room.copies;
  for (auto at = experts_.begin(); at != end; ++at) {
    load += flow.tiles(*at);
    holders += table.count(*at);
    if (holders >= flow.workers()) break;
    bound_ = std::max(bound_, static_cast<Tiles>(ceil_div(load, holders)));
  }
}

bool TileBounds::copies_suffice(const Room& room, Tiles limit) const {
  int copies = room.copies;
  for (std::size_t worker = 0; worker < confined_.size(); ++worker) {
    std::int64_t excess = confined_[worker] - limit;
    int outside = room.total - room.open[worker];
    for (int i = first_[worker]; excess > 0; ++i) {
      if (i == first_[worker + 1] || copies-- == 0 || outside-- == 0) return false;
      excess -= pieces_[i];
    }
  }
  return true;
}

// Workers are disjoint, and one copy unconfines one expert of one worker.
void TileBounds::count_copies(const Room& room) {
  const std::int64_t top = *std::max_element(confined_.begin(), confined_.end());
  if (top <= bound_) return;
  for (std::size_t worker = 0; worker < confined_.size(); ++worker)
    if (confined_[worker] > bound_)
      std::sort(pieces_.begin() + first_[worker], pieces_.begin() + first_[worker + 1], std::greater<>());
  Tiles low = bound_, high = static_cast<Tiles>(top);  // `high` needs no copies
  while (low < high) {
    const Tiles middle = low + (high - low) / 2;
    if (copies_suffice(room, middle)) high = middle;
    else low = middle + 1;
  }
  bound_ = low;
}

bool TileBounds::raise(const Flow& flow, const Room& room) {
  closed_.clear();
  for (int worker = 0; worker < flow.workers(); ++worker)
    if (flow.closed(worker)) closed_.push_back(worker);
  const Tiles before = bound_;
  try_cut(flow, room, closed_);
  return bound_ > before;
}

Tiles TileBounds::by_cut(const Flow& flow, const Room& room, Tiles floor, Tiles reached, std::span<const int> cut) {
  cut_.assign(cut.begin(), cut.end());
  bound_ = reached;
  int outside = room.total;
  for (const int worker : cut) outside -= room.open[worker];
  if (outside == 0) return bound_;
  bound_ = floor;
  cut_.clear();
  try_cut(flow, room, cut);
  return bound_;
}

Tiles TileBounds::improve(const Flow& flow, const Room& room, Tiles reached) {
  if (bound_ < reached) gather(flow);
  if (bound_ < reached) try_fillable(flow, room);
  if (bound_ < reached) try_prefixes(flow, room);
  if (bound_ < reached && flow.workers() <= kAllCuts) try_all_cuts(flow, room);
  const Tiles cuts = bound_;
  if (bound_ < reached) try_hot_sets(flow, room);
  if (bound_ < reached) count_copies(room);
  if (bound_ > cuts) cut_.clear();
  std::sort(cut_.begin(), cut_.end());
  return bound_;
}

}  // namespace afore::placement::tiles
