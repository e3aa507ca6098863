#pragma once
// Byte-pair encoding of one piece of text: starting from single bytes, the adjacent pair of the lowest rank is merged,
// the leftmost of equal ones first, until no pair is left that merges (Sennrich, Haddow, Birch 2016, algorithm 1;
// tokenizers, models/bpe/word.rs). O(n log n) in the piece.
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace afore::nn {

struct Merge {  // its rank is its place in the list
  int left, right, result;
};

class Bpe {
 public:
  struct Scratch {
    struct Symbol {
      int id, previous, next;  // places, or kNone
      std::uint32_t rank;      // of merging it with the next one
    };
    std::vector<Symbol> symbols;
    std::vector<std::uint64_t> heap;  // rank << 32 | place, least first; a pair that is gone is left in
  };

  // The id of each single byte. Of merges of one pair the last counts. Ids are not negative.
  Bpe(const std::array<int, 256>& byte_ids, std::span<const Merge> merges);

  void encode(std::string_view piece, std::vector<int>& ids, Scratch& scratch) const;
  int byte_id(unsigned char byte) const { return byte_ids_[byte]; }

 private:
  static constexpr std::uint32_t kNoRank = UINT32_MAX;
  static constexpr int kNone = -1;

  // An open hash table of the merges by pair.
  struct Slot {
    std::uint64_t pair;
    std::uint32_t rank;  // kNoRank = free
    int result;
  };

  const Slot& find(int left, int right) const;
  void rank_pair(int place, Scratch& scratch) const;
  void merge(int place, Scratch& scratch) const;

  std::array<int, 256> byte_ids_;
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
};

}  // namespace afore::nn
