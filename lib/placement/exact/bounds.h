#pragma once
// Lower bounds on the largest load of any split over the replicas that stand: volume, pinned workers, Hall prefixes
// (workers by pinned load; what is confined to the first i of them), forced parts (an expert needs as many replicas as
// the room beside pinned work demands, each an activation). They hold under either rule and any slowdowns: a limit T
// gives every worker its room and seats, and a bound is the least T at which both suffice.
#include <array>
#include <cstdint>
#include <vector>

#include "placement/exact/grid.h"
#include "placement/exact/loads.h"

namespace afore::placement::exact {

// What any split within a limit takes of it, at least.
struct Demanded {
  bool possible = true;
  __int128 room = 0;        // with forced parts
  __int128 wasted = 0;      // of workers where nothing more fits, or not enough can come
  std::int64_t seats = 0;   // activations
  std::int64_t forced = 0;  // of them beyond one per expert
};

class SplitBounds {
 public:
  void reset(const Loads& loads, const Grid& grid);
  // `ceiling` is a load that some split reaches: no bound exceeds it. Each is rounded up to an attainable load.
  std::int64_t volume(std::int64_t ceiling) const;
  std::int64_t pinned() const;
  std::int64_t prefixes(std::int64_t floor, std::int64_t ceiling);
  std::int64_t forced(std::int64_t floor, std::int64_t ceiling);

  Demanded demanded(std::int64_t limit);
  // What demanded() last found wasted on a worker.
  std::int64_t wasted(int worker) const { return wasted_[worker]; }
  __int128 room_of_all(std::int64_t limit) const;
  __int128 seats_of_all(std::int64_t limit) const;

 private:
  bool prefixes_fit(std::int64_t limit) const;
  // The least attainable T in [floor, ceiling] that passes a test which is monotone and passes at the ceiling.
  template <class Test>
  std::int64_t least(std::int64_t floor, std::int64_t ceiling, Test&& fits) const;

  const Loads* loads_ = nullptr;
  const Grid* grid_ = nullptr;
  __int128 volume_ = 0;
  void order_by_pinned_load();

  std::vector<std::int64_t> pinned_;
  std::vector<int> order_, rank_;
  std::vector<std::int64_t> confined_, confined_experts_;  // by the rank of the last holder
  std::vector<std::int64_t> fits_, caps_, wasted_;
  std::vector<std::int64_t> coming_;  // by worker: experts with a choice, whole; empty until asked for
  void count_coming();
};

}  // namespace afore::placement::exact
