#include "placement/exact/fillings.h"

#include <algorithm>
#include <bit>

namespace afore::placement::exact {

void Fillings::reserve(int workers) {
  count_.reserve(workers);
  tiles_.reserve(workers);
  kept_.reserve(workers);
}

void Fillings::begin(int workers, std::int64_t tile, std::int64_t setup) {
  tile_ = tile;
  setup_ = setup;
  one_row_ = setup == 0 || (tile > 0 && setup % tile == 0);
  setup_tiles_ = one_row_ && tile > 0 ? setup / tile : 0;
  count_.assign(workers, 0);
  tiles_.resize(workers);
  kept_.assign(workers, {});
}

int Fillings::add(int worker, std::int64_t tiles) {
  const int bit = count_[worker]++;
  if (bit >= kExperts) return -1;
  tiles_[worker][bit] = tiles;
  return bit;
}

std::int64_t Fillings::most(int worker, std::int64_t room, std::uint64_t experts) {
  if (count_[worker] > kExperts || tile_ == 0) return kNotKnown;
  const std::uint64_t hash = (static_cast<std::uint64_t>(room) ^ experts * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  Answer& kept = kept_[worker][hash >> 61];
  if (kept.room != room || kept.experts != experts) kept = {room, experts, compute(worker, room, experts)};
  return kept.sum;
}

// Bit t of row k: k experts (of any number where one row is enough) have t tiles together.
std::int64_t Fillings::compute(int worker, std::int64_t room, std::uint64_t experts) {
  static_assert(kKept == 8);
  const std::int64_t top = room / tile_;
  if (top >= 64 * kWords) return kNotKnown;
  const int words = static_cast<int>(top / 64) + 1;
  const int rows = one_row_ ? 1 : 1 + static_cast<int>(std::min<std::int64_t>(std::popcount(experts), room / setup_));
  if (rows * words > kWords) return kNotKnown;
  std::fill(bits_.begin(), bits_.begin() + rows * words, 0);
  bits_[0] = 1;
  int used = 1;
  for (; experts != 0; experts &= experts - 1) {
    const std::int64_t shift = tiles_[worker][std::countr_zero(experts)] + setup_tiles_;
    if (shift > top) continue;
    const int jump = static_cast<int>(shift / 64), bit = static_cast<int>(shift % 64);
    used = std::min(used + 1, rows);
    for (int row = used - 1; row >= (one_row_ ? 0 : 1); --row) {
      const std::uint64_t* from = bits_.data() + (one_row_ ? 0 : row - 1) * words;
      std::uint64_t* to = bits_.data() + row * words;
      for (int i = words - 1; i >= jump; --i)
        to[i] |= from[i - jump] << bit | (bit > 0 && i > jump ? from[i - jump - 1] >> (64 - bit) : 0);
    }
  }
  std::int64_t best = 0;
  for (int row = 0; row < used; ++row) {
    const std::int64_t left = room - (one_row_ ? 0 : setup_ * row);
    if (left < 0) break;
    const std::int64_t most = left / tile_;
    int word = static_cast<int>(most / 64);
    const std::uint64_t* its = bits_.data() + row * words;
    std::uint64_t bits = its[word] & ~std::uint64_t{0} >> (63 - most % 64);
    while (bits == 0 && word > 0) bits = its[--word];
    if (bits != 0) best = std::max(best, room - left + tile_ * (64 * word + 63 - std::countl_zero(bits)));
  }
  return best;
}

}  // namespace afore::placement::exact
