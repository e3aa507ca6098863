#include "verify/bounds.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace afore::verify {
namespace {

std::int64_t sum_of_first(const Counts& sorted, std::int64_t count) {
  const auto end = std::min<std::int64_t>(count, static_cast<std::int64_t>(sorted.size()));
  return std::accumulate(sorted.begin(), sorted.begin() + end, std::int64_t{0});
}

}  // namespace

Bounds::Bounds(const Counts& sizes, const std::vector<std::vector<int>>& holders, const Counts& open_slots,
               std::int64_t copy_budget)
    : sizes_(sizes),
      holders_(holders),
      open_slots_(open_slots),
      budget_(copy_budget),
      workers_(static_cast<int>(open_slots.size())),
      experts_of_(workers_),
      pinned_(workers_),
      pinned_sum_(workers_, 0) {
  total_open_ = std::accumulate(open_slots.begin(), open_slots.end(), std::int64_t{0});
  std::int64_t total = 0;
  for (std::size_t e = 0; e < sizes.size(); ++e) {
    if (sizes[e] == 0) continue;
    total += sizes[e];
    for (const int worker : holders[e]) experts_of_[worker].push_back(static_cast<int>(e));
    if (holders[e].size() == 1) pinned_[holders[e][0]].push_back(sizes[e]);
  }
  consider(divide_up(total, workers_));
  consider(hot_sets());
  for (int w = 0; w < workers_; ++w) {
    std::sort(pinned_[w].begin(), pinned_[w].end(), std::greater<>());
    pinned_sum_[w] = sum_of_first(pinned_[w], INT64_MAX);
    consider(pinned_sum_[w] - sum_of_first(pinned_[w], copies_out_of(open_slots_[w])));
  }
  // Two orders of load: what cannot leave a worker, and what its lowest-index replicas would carry.
  Counts by_first(workers_, 0);
  for (std::size_t e = 0; e < sizes.size(); ++e)
    if (sizes[e] > 0) by_first[holders[e].front()] += sizes[e];
  for (const bool pinned : {true, false}) {
    const Counts& load = pinned ? pinned_sum_ : by_first;
    std::vector<int> order(workers_);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return load[a] > load[b]; });
    consider(prefixes(order));
  }
}

std::int64_t Bounds::copies_out_of(std::int64_t open_inside) const {
  return std::min(budget_, total_open_ - open_inside);
}

std::int64_t Bounds::cut(const std::vector<std::uint8_t>& set) const {
  Counts confined;
  std::int64_t members = 0, open_inside = 0, work = 0;
  for (int w = 0; w < workers_; ++w)
    if (set[w]) ++members, open_inside += open_slots_[w];
  for (std::size_t e = 0; e < sizes_.size(); ++e) {
    if (sizes_[e] == 0) continue;
    if (!std::all_of(holders_[e].begin(), holders_[e].end(), [&](int worker) { return set[worker] != 0; })) continue;
    confined.push_back(sizes_[e]);
    work += sizes_[e];
  }
  std::sort(confined.begin(), confined.end(), std::greater<>());
  return members == 0 ? 0 : divide_up(work - sum_of_first(confined, copies_out_of(open_inside)), members);
}

std::int64_t Bounds::prefixes(const std::vector<int>& order) const {
  std::vector<int> outside(sizes_.size());
  for (std::size_t e = 0; e < sizes_.size(); ++e) outside[e] = static_cast<int>(holders_[e].size());
  Counts confined;  // largest first
  std::int64_t best = 0, work = 0, open_inside = 0;
  for (int members = 1; members <= workers_; ++members) {
    const int worker = order[members - 1];
    open_inside += open_slots_[worker];
    for (const int e : experts_of_[worker]) {
      if (--outside[e] > 0) continue;
      confined.insert(std::upper_bound(confined.begin(), confined.end(), sizes_[e], std::greater<>()), sizes_[e]);
      work += sizes_[e];
    }
    best = std::max(best, divide_up(work - sum_of_first(confined, copies_out_of(open_inside)), members));
  }
  return best;
}

// A set of experts runs on its holders and on at most as many further workers as there are copies. Tried: the largest
// experts, and those with the most work per holder.
std::int64_t Bounds::hot_sets() const {
  std::vector<int> active;
  for (std::size_t e = 0; e < sizes_.size(); ++e)
    if (sizes_[e] > 0) active.push_back(static_cast<int>(e));
  const auto replicas = [&](int e) { return static_cast<std::int64_t>(holders_[e].size()); };
  const auto heads = [&](const auto& hotter) {
    std::stable_sort(active.begin(), active.end(), hotter);
    std::vector<std::uint8_t> reached(workers_, 0);
    std::int64_t best = 0, work = 0, hosts = copies_out_of(0);
    for (const int e : active) {
      work += sizes_[e];
      for (const int worker : holders_[e])
        if (!reached[worker]) reached[worker] = 1, ++hosts;
      best = std::max(best, divide_up(work, std::min<std::int64_t>(workers_, hosts)));
    }
    return best;
  };
  const std::int64_t per_holder = heads([&](int a, int b) {
    return static_cast<Wide>(sizes_[a]) * replicas(b) > static_cast<Wide>(sizes_[b]) * replicas(a);
  });
  return std::max(per_holder, heads([&](int a, int b) {
                    return sizes_[a] != sizes_[b] ? sizes_[a] > sizes_[b] : replicas(a) < replicas(b);
                  }));
}

// Each worker above `load` must lose confined experts, and a copy serves one worker.
bool Bounds::needs_too_many_copies(std::int64_t load) const {
  std::int64_t needed = 0;
  for (int w = 0; w < workers_; ++w) {
    std::int64_t over = pinned_sum_[w] - load, copies = 0;
    for (const std::int64_t size : pinned_[w]) {
      if (over <= 0) break;
      over -= size;
      ++copies;
    }
    needed += copies;
    if (over > 0 || copies > copies_out_of(open_slots_[w]) || needed > copies_out_of(0)) return true;
  }
  return false;
}

// The least that stays pinned to the worker beside a pinned expert of `size` (0: none), once copies took the largest.
std::int64_t Bounds::pinned_without(int worker, std::int64_t size) const {
  const Counts& sizes = pinned_[worker];
  const std::int64_t taken = copies_out_of(open_slots_[worker]);
  if (size == 0) return pinned_sum_[worker] - sum_of_first(sizes, taken);
  const bool among_taken = taken > 0 && (taken >= static_cast<std::int64_t>(sizes.size()) || size >= sizes[taken - 1]);
  return among_taken ? pinned_sum_[worker] - sum_of_first(sizes, taken + 1)
                     : pinned_sum_[worker] - size - sum_of_first(sizes, taken);
}

bool Bounds::refutes_time(Nanos time, const Counts& tiles, Nanos c1_ns, Nanos c2_ns) const {
  if (refutes(time)) return true;
  // Tiles of one more expert that fit beside what is pinned.
  const auto room = [&](Nanos pinned) { return std::max<Nanos>(0, time - pinned - c2_ns) / c1_ns; };
  std::vector<std::pair<std::int64_t, int>> open;  // rooms of workers a copy could go to, largest first
  for (int w = 0; w < workers_ && budget_ > 0; ++w)
    if (open_slots_[w] > 0) open.emplace_back(room(pinned_without(w, 0)), w);
  std::sort(open.begin(), open.end(), std::greater<>());

  Wide volume = 0;
  for (std::size_t e = 0; e < sizes_.size(); ++e) {
    if (tiles[e] == 0) continue;
    Counts own;
    for (const int worker : holders_[e])
      own.push_back(room(pinned_without(worker, holders_[e].size() == 1 ? sizes_[e] : 0)));
    std::sort(own.begin(), own.end(), std::greater<>());
    std::int64_t left = tiles[e], parts = 0, copies = copies_out_of(0);
    std::size_t i = 0, j = 0;
    while (left > 0) {
      while (j < open.size() && std::binary_search(holders_[e].begin(), holders_[e].end(), open[j].second)) ++j;
      const std::int64_t here = i < own.size() ? own[i] : 0;
      const std::int64_t there = j < open.size() && copies > 0 ? open[j].first : 0;
      if (here == 0 && there == 0) return true;
      if (here >= there) ++i;
      else ++j, --copies;
      left -= std::max(here, there);
      ++parts;
    }
    volume += static_cast<Wide>(c1_ns) * tiles[e] + static_cast<Wide>(c2_ns) * parts;
  }
  return volume > static_cast<Wide>(time) * workers_;
}

}  // namespace afore::verify
