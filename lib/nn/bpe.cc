#include "nn/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "util/error.h"

namespace afore::nn {
namespace {

std::uint64_t pair_of(int left, int right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

std::size_t hash_of(std::uint64_t pair) {  // Fibonacci hashing; the high half is the well mixed one
  return static_cast<std::size_t>(pair * 0x9E37'79B9'7F4A'7C15u >> 32);
}

}  // namespace

Bpe::Bpe(const std::array<int, 256>& byte_ids, std::span<const Merge> merges) : byte_ids_(byte_ids) {
  slots_.resize(std::bit_ceil(2 * merges.size() + 1), {0, kNoRank, kNone});
  mask_ = slots_.size() - 1;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    const std::uint64_t pair = pair_of(merge.left, merge.right);
    std::size_t at = hash_of(pair) & mask_;
    while (slots_[at].rank != kNoRank && slots_[at].pair != pair) at = (at + 1) & mask_;
    slots_[at] = {pair, static_cast<std::uint32_t>(rank), merge.result};
  }
}

const Bpe::Slot& Bpe::find(int left, int right) const {
  const std::uint64_t pair = pair_of(left, right);
  std::size_t at = hash_of(pair) & mask_;
  while (slots_[at].rank != kNoRank && slots_[at].pair != pair) at = (at + 1) & mask_;
  return slots_[at];
}

void Bpe::rank_pair(int place, Scratch& scratch) const {
  Scratch::Symbol& symbol = scratch.symbols[static_cast<std::size_t>(place)];
  symbol.rank = kNoRank;
  if (symbol.next == kNone) return;
  symbol.rank = find(symbol.id, scratch.symbols[static_cast<std::size_t>(symbol.next)].id).rank;
  if (symbol.rank == kNoRank) return;
  scratch.heap.push_back(std::uint64_t{symbol.rank} << 32 | static_cast<std::uint32_t>(place));
}

void Bpe::merge(int place, Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  Scratch::Symbol& left = symbols[static_cast<std::size_t>(place)];
  Scratch::Symbol& right = symbols[static_cast<std::size_t>(left.next)];
  left.id = find(left.id, right.id).result;
  left.next = right.next;
  right.rank = kNoRank;  // what the heap still has of it is no pair any more
  if (left.next != kNone) symbols[static_cast<std::size_t>(left.next)].previous = place;
  for (const int changed : {left.previous, place}) {
    if (changed == kNone) continue;
    const std::size_t before = heap.size();
    rank_pair(changed, scratch);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
}

void Bpe::encode(std::string_view piece, std::vector<int>& ids, Scratch& scratch) const {
  AFORE_CHECK(piece.size() < INT32_MAX, "a piece of text that is too long to merge");
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  const int count = static_cast<int>(piece.size());
  symbols.resize(piece.size());
  heap.clear();
  for (int i = 0; i < count; ++i)
    symbols[static_cast<std::size_t>(i)] = {byte_id(static_cast<unsigned char>(piece[static_cast<std::size_t>(i)])),
                                            i - 1, i + 1 < count ? i + 1 : kNone, kNoRank};
  for (int i = 0; i < count; ++i) rank_pair(i, scratch);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const std::uint64_t least = heap.back();
    heap.pop_back();
    const int place = static_cast<int>(least & UINT32_MAX);
    if (symbols[static_cast<std::size_t>(place)].rank == least >> 32) merge(place, scratch);
  }
  for (int i = 0; i < count && i != kNone; i = symbols[static_cast<std::size_t>(i)].next)
    ids.push_back(symbols[static_cast<std::size_t>(i)].id);
}

}  // namespace afore::nn
