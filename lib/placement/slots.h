#pragma once
// Slots a copy may take: regular slots that are not busy and hold no primary.
#include <cstdint>
#include <span>
#include <vector>

#include "core/placement.h"
#include "placement/board.h"
#include "placement/bounds.h"
#include "placement/policy.h"

namespace afore::placement {

class SlotTable {
 public:
  static constexpr int kNone = -1;
  // `board` holds the standing replicas of the request's placement. Draining workers have no slots to take.
  void reset(const Request& request, const Board& board);
  CopyRoom& room(std::int64_t copy_budget);

  // The slot a copy to `worker` would take now: the first empty one, else the least recently used whose replica has no
  // work on the board and which no copy of this search took. Its index, or kNone.
  int pick(const Board& board, int worker) const;
  int slot(int index) const { return slots_[index].slot; }
  int replica(int index) const { return slots_[index].replica; }  // on the board; kNone = none there
  void take(int index) { slots_[index].taken = true; }
  void release(int index) { slots_[index].taken = false; }

 private:
  struct Entry {
    std::int64_t last_used = -1;
    int slot = 0;
    int replica = kNone;
    bool empty = false;
    bool taken = false;
  };
  std::vector<Entry> slots_;
  std::vector<int> first_;  // slots_ range of a worker
  CopyRoom room_;
  std::vector<int> seen_;     // by expert: the worker that was last found to hold it
  std::vector<int> replica_;  // by expert: its replica on the worker at hand
};

}  // namespace afore::placement
