#pragma once
// Room that whole experts cannot fill. With F forced and X further activations beyond one per expert, at most 2(F + X)
// workers hold a part of a divided expert; every other worker holds whole experts only and leaves unused what no
// subset sum of its replicated experts fills. A limit T is refuted when for every X what is demanded, X further setups
// and the N - 2(F + X) smallest leftovers exceed the room of all.
#include <cstdint>
#include <vector>

#include "placement/exact/bounds.h"
#include "placement/exact/loads.h"

namespace afore::placement::exact {

class Waste {
 public:
  // Subset sums of every worker for limits up to `ceiling`. A worker whose sums would take too long wastes nothing.
  void reset(const Loads& loads, std::int64_t ceiling);
  // False: no split has a largest load of `limit` or less. Not monotone, but each refutation holds.
  bool fits(SplitBounds& bounds, std::int64_t limit);

 private:
  // Sums of one worker: a row of bits per number of experts (one row where a setup is a whole number of tiles), a bit
  // per tile sum.
  struct Sums {
    int rows = 0;  // 0 = not known: wastes nothing
    int words = 0;
    std::size_t first = 0;
  };
  void add_worker(int worker, std::int64_t ceiling);
  std::int64_t leftover(int worker, std::int64_t limit) const;
  void or_shifted(std::size_t to, std::size_t from, int words, std::int64_t shift);

  const Loads* loads_ = nullptr;
  std::int64_t setup_tiles_ = 0;  // of an expert, where rows are not needed
  bool one_row_ = true;
  std::vector<Sums> sums_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int64_t> items_, leftovers_;
};

}  // namespace afore::placement::exact
