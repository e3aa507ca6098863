#pragma once
// Which experts to put into empty slots, one after another: the expert with the most work per replica goes to the
// worker with the least work that lacks it and has an empty slot, where every expert's work counts as spread evenly
// over its replicas (EPLB's idea, one copy at a time).
#include <cstdint>
#include <span>
#include <vector>

namespace afore::placement {

struct Fill {
  int expert = 0, worker = 0;
};

class FillRule {
 public:
  // `homes`: primaries' workers by expert, -1 = none; `work` by expert; experts without work or in `pinned` (may be
  // empty) are not taken.
  void reset(std::span<const int> homes, std::span<const double> work, std::span<const std::uint8_t> pinned,
             int workers);
  void add_replica(int expert, int worker);  // that stands
  void add_empty(int worker) { ++empty_[worker]; }
  // The next one, which then stands; false when nothing more can be placed.
  bool next(Fill& fill);

 private:
  bool holds(int expert, int worker) const;
  double share(int expert) const { return work_[expert] / static_cast<double>(holders_[expert].size()); }

  std::vector<double> work_, load_;
  std::vector<std::vector<int>> holders_;
  std::vector<char> closed_;  // by expert: no worker can take it
  std::vector<int> empty_;
};

}  // namespace afore::placement
