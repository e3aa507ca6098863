#include "placement/exact/waste.h"

#include <algorithm>
#include <bit>

namespace afore::placement::exact {
namespace {

constexpr std::int64_t kMaxTiles = 4096;  // longest row
constexpr std::int64_t kMaxWork = 8192;   // words touched for one worker
constexpr std::int64_t kMaxWords = 256;   // kept for one worker

}  // namespace

void Waste::reset(const Loads& loads, std::int64_t ceiling) {
  loads_ = &loads;
  one_row_ = loads.setup() == 0 || (loads.tile() > 0 && loads.setup() % loads.tile() == 0);
  setup_tiles_ = one_row_ && loads.setup() > 0 ? loads.setup() / loads.tile() : 0;
  sums_.assign(loads.workers(), {});
  bits_.clear();
  bits_.reserve(static_cast<std::size_t>(loads.workers()) * kMaxWords);
  items_.reserve(loads.replicas().experts());
  for (int w = 0; w < loads.workers(); ++w) add_worker(w, ceiling);
}

// bits_[to..] |= bits_[from..] << shift. Safe for to == from: words are taken from the top.
void Waste::or_shifted(std::size_t to, std::size_t from, int words, std::int64_t shift) {
  const int jump = static_cast<int>(shift / 64), bit = static_cast<int>(shift % 64);
  for (int i = words - 1; i >= jump; --i) {
    std::uint64_t moved = bits_[from + i - jump] << bit;
    if (bit > 0 && i > jump) moved |= bits_[from + i - jump - 1] >> (64 - bit);
    bits_[to + i] |= moved;
  }
}

void Waste::add_worker(int worker, std::int64_t ceiling) {
  const Loads& loads = *loads_;
  const std::int64_t room = loads.room(worker, ceiling) - loads.tile() * loads.pinned_tiles(worker) -
                            loads.setup() * loads.pinned_active(worker);
  const std::int64_t most = loads.tiles_in(std::max<std::int64_t>(room, 0));
  items_.clear();
  for (const int id : loads.movable(worker)) {
    const std::int64_t size = loads.demand(loads.replicas().expert(id)) + setup_tiles_;
    if (size <= most) items_.push_back(size);
  }
  const auto items = static_cast<std::int64_t>(items_.size());
  Sums& sums = sums_[worker];
  if (most >= kMaxTiles) return;
  sums.words = static_cast<int>(most / 64 + 1);
  sums.rows = one_row_ ? 1 : static_cast<int>(items + 1);
  if (items * sums.rows * sums.words > kMaxWork || sums.rows * sums.words > kMaxWords) {
    sums.rows = 0;
    return;
  }
  sums.first = bits_.size();
  bits_.resize(sums.first + static_cast<std::size_t>(sums.rows) * sums.words, 0);
  bits_[sums.first] = 1;
  int rows = 1;  // in use
  for (const std::int64_t item : items_) {
    if (one_row_) {
      or_shifted(sums.first, sums.first, sums.words, item);
      continue;
    }
    for (int row = rows++; row > 0; --row)
      or_shifted(sums.first + static_cast<std::size_t>(row) * sums.words,
                 sums.first + static_cast<std::size_t>(row - 1) * sums.words, sums.words, item);
  }
}

std::int64_t Waste::leftover(int worker, std::int64_t limit) const {
  const Loads& loads = *loads_;
  const Sums& sums = sums_[worker];
  const std::int64_t room = loads.room(worker, limit) - loads.tile() * loads.pinned_tiles(worker) -
                            loads.setup() * loads.pinned_active(worker);
  if (sums.rows == 0 || room <= 0) return 0;
  std::int64_t least = room;
  for (int row = 0; row < sums.rows && least > 0; ++row) {
    const std::int64_t left = room - (one_row_ ? 0 : loads.setup() * row);
    if (left < 0) break;
    const std::int64_t most = std::min<std::int64_t>(loads.tiles_in(left), 64 * sums.words - 1);
    auto word = static_cast<int>(most / 64);
    std::uint64_t bits = bits_[sums.first + static_cast<std::size_t>(row) * sums.words + word];
    bits &= ~std::uint64_t{0} >> (63 - most % 64);
    while (bits == 0 && word > 0) bits = bits_[sums.first + static_cast<std::size_t>(row) * sums.words + --word];
    if (bits == 0) continue;
    const std::int64_t sum = 64 * word + 63 - std::countl_zero(bits);
    least = std::min(least, left - loads.tile() * sum);
  }
  return least;
}

bool Waste::fits(SplitBounds& bounds, std::int64_t limit) {
  const Demanded all = bounds.demanded(limit);
  const __int128 room = bounds.room_of_all(limit), seats = bounds.seats_of_all(limit);
  if (!all.possible || all.room + all.wasted > room || all.seats > seats) return false;
  const int workers = loads_->workers();
  leftovers_.clear();
  leftovers_.reserve(workers);
  for (int w = 0; w < workers; ++w)
    leftovers_.push_back(std::max<std::int64_t>(0, leftover(w, limit) - bounds.wasted(w)));
  std::sort(leftovers_.begin(), leftovers_.end());
  __int128 wasted = 0;
  for (const std::int64_t leftover : leftovers_) wasted += leftover;
  std::int64_t untouched = workers;
  for (std::int64_t extra = 0; all.seats + extra <= seats; ++extra) {
    const __int128 used = all.room + all.wasted + static_cast<__int128>(extra) * loads_->setup();
    if (used > room) return false;
    const std::int64_t left = workers - 2 * (all.forced + extra);
    if (left <= 0) return true;
    while (untouched > left) wasted -= leftovers_[--untouched];
    if (used + wasted <= room) return true;
  }
  return false;
}

}  // namespace afore::placement::exact
