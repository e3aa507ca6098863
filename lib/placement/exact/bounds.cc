#include "placement/exact/bounds.h"

#include <algorithm>
#include <functional>

namespace afore::placement::exact {
namespace {

constexpr int kSteps = 4;  // attainable loads tried one by one before bisecting

__int128 ceil_div128(__int128 a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

void SplitBounds::reset(const Loads& loads, const Grid& grid) {
  loads_ = &loads;
  grid_ = &grid;
  coming_.clear();
  volume_ = static_cast<__int128>(loads.tile()) * loads.total_tiles() +
            static_cast<__int128>(loads.setup()) * loads.active_experts();
}

template <class Test>
std::int64_t SplitBounds::least(std::int64_t floor, std::int64_t ceiling, Test&& fits) const {
  std::int64_t limit = grid_->at_least(floor);
  for (int step = 0; step < kSteps && limit < ceiling; ++step) {
    if (fits(limit)) return limit;
    limit = grid_->at_least(limit + 1);
  }
  if (limit >= ceiling) return ceiling;
  std::int64_t low = limit - 1, high = ceiling;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fits(middle)) high = middle;
    else low = middle;
  }
  return std::min(grid_->at_least(high), ceiling);
}

__int128 SplitBounds::room_of_all(std::int64_t limit) const {
  if (loads_->alike()) return static_cast<__int128>(limit) * loads_->workers();
  __int128 sum = 0;
  for (int w = 0; w < loads_->workers(); ++w) sum += loads_->room(w, limit);
  return sum;
}

__int128 SplitBounds::seats_of_all(std::int64_t limit) const {
  if (loads_->alike()) return static_cast<__int128>(loads_->seats(0, limit)) * loads_->workers();
  __int128 sum = 0;
  for (int w = 0; w < loads_->workers(); ++w) sum += loads_->seats(w, limit);
  return sum;
}

std::int64_t SplitBounds::volume(std::int64_t ceiling) const {
  if (volume_ == 0 && loads_->active_experts() == 0) return 0;
  if (loads_->plain()) {
    const auto mean = static_cast<std::int64_t>(ceil_div128(volume_, loads_->workers()));
    return std::min(grid_->at_least(std::max(mean, loads_->whole(1))), ceiling);
  }
  return least(1, ceiling, [&](std::int64_t limit) {
    return room_of_all(limit) >= volume_ && seats_of_all(limit) >= loads_->active_experts();
  });
}

std::int64_t SplitBounds::pinned() const {
  std::int64_t most = 0;
  for (int w = 0; w < loads_->workers(); ++w)
    most = std::max(most, loads_->load_of(w, loads_->pinned_tiles(w), loads_->pinned_active(w)));
  return most;
}

bool SplitBounds::prefixes_fit(std::int64_t limit) const {
  __int128 work = 0, room = 0, experts = 0, seats = 0;
  for (int i = 0; i < loads_->workers(); ++i) {
    const int worker = order_[i];
    work += confined_[i];
    experts += confined_experts_[i];
    room += loads_->room(worker, limit);
    seats += loads_->seats(worker, limit);
    if (work > room || experts > seats) return false;
  }
  return true;
}

// In steps of 1/63 of the largest: any order gives a valid bound, and this one takes no comparisons.
void SplitBounds::order_by_pinned_load() {
  const int workers = loads_->workers();
  pinned_.resize(workers);
  order_.resize(workers);
  std::int64_t most = 1;
  for (int w = 0; w < workers; ++w) {
    pinned_[w] = loads_->load_of(w, loads_->pinned_tiles(w), loads_->pinned_active(w));
    most = std::max(most, pinned_[w]);
  }
  const std::int64_t unit = most / 63 + 1;
  std::array<int, 65> starts{};
  for (int w = 0; w < workers; ++w) {
    pinned_[w] = 63 - pinned_[w] / unit;
    ++starts[pinned_[w] + 1];
  }
  for (int i = 0; i < 64; ++i) starts[i + 1] += starts[i];
  for (int w = 0; w < workers; ++w) order_[starts[pinned_[w]]++] = w;
}

std::int64_t SplitBounds::prefixes(std::int64_t floor, std::int64_t ceiling) {
  const Loads& loads = *loads_;
  const ReplicaTable& table = loads.replicas();
  const int workers = loads.workers();
  order_by_pinned_load();
  rank_.resize(workers);
  confined_.resize(workers);
  confined_experts_.resize(workers);
  for (int i = 0; i < workers; ++i) {
    const int w = order_[i];
    rank_[w] = i;
    confined_[i] = loads.tile() * loads.pinned_tiles(w) + loads.setup() * loads.pinned_active(w);
    confined_experts_[i] = loads.pinned_active(w);
  }
  for (const int expert : loads.free_experts()) {
    int last = 0;
    for (int id = table.first(expert); id < table.first(expert + 1); ++id)
      last = std::max(last, rank_[table.worker(id)]);
    confined_[last] += loads.whole(loads.demand(expert));
    ++confined_experts_[last];
  }
  if (!loads.plain()) return least(floor, ceiling, [&](std::int64_t limit) { return prefixes_fit(limit); });
  __int128 work = 0;
  std::int64_t best = floor;
  for (int i = 0; i < workers; ++i) {
    work += confined_[i];
    if (work > static_cast<__int128>(best) * (i + 1)) best = static_cast<std::int64_t>(ceil_div128(work, i + 1));
  }
  return std::min(grid_->at_least(best), ceiling);
}

void SplitBounds::count_coming() {
  const Loads& loads = *loads_;
  coming_.resize(loads.workers());
  for (int w = 0; w < loads.workers(); ++w) {
    std::int64_t sum = 0;
    for (const int id : loads.movable(w)) sum += loads.whole(loads.demand(loads.replicas().expert(id)));
    coming_[w] = sum;
  }
}

Demanded SplitBounds::demanded(std::int64_t limit) {
  const Loads& loads = *loads_;
  const ReplicaTable& table = loads.replicas();
  if (coming_.empty()) count_coming();
  Demanded all{true, volume_, 0, loads.active_experts(), 0};
  fits_.resize(loads.workers());
  wasted_.resize(loads.workers());
  for (int w = 0; w < loads.workers(); ++w) {
    if (loads.load_of(w, loads.pinned_tiles(w), loads.pinned_active(w)) > limit) return {false};
    fits_[w] = loads.capacity(w, limit, loads.pinned_active(w) + 1) - loads.pinned_tiles(w);
    const std::int64_t room =
        loads.room(w, limit) - loads.tile() * loads.pinned_tiles(w) - loads.setup() * loads.pinned_active(w);
    wasted_[w] = fits_[w] < 1 ? room : std::max<std::int64_t>(0, room - coming_[w]);
    all.wasted += wasted_[w];
  }
  for (const int expert : loads.free_experts()) {
    const std::int64_t tiles = loads.demand(expert);
    caps_.clear();
    caps_.reserve(loads.workers());
    bool whole = false;
    for (int id = table.first(expert); id < table.first(expert + 1) && !whole; ++id) {
      const std::int64_t fits = fits_[table.worker(id)];
      whole = fits >= tiles;
      if (fits > 0) caps_.push_back(fits);
    }
    if (whole) continue;
    std::sort(caps_.begin(), caps_.end(), std::greater<>());
    std::int64_t sum = 0;
    std::size_t parts = 0;
    while (parts < caps_.size() && sum < tiles) sum += caps_[parts++];
    if (sum < tiles) return {false};
    all.forced += static_cast<std::int64_t>(parts) - 1;
  }
  all.room += static_cast<__int128>(loads.setup()) * all.forced;
  all.seats += all.forced;
  return all;
}

std::int64_t SplitBounds::forced(std::int64_t floor, std::int64_t ceiling) {
  return least(floor, ceiling, [&](std::int64_t limit) {
    const Demanded all = demanded(limit);
    return all.possible && all.room + all.wasted <= room_of_all(limit) && all.seats <= seats_of_all(limit);
  });
}

}  // namespace afore::placement::exact
