#pragma once
// What planning by tiles derives from one layer's placement: everything that stays as long as the placement does.
#include <cstdint>
#include <span>
#include <vector>

#include "core/placement.h"
#include "placement/policy.h"
#include "placement/replica_table.h"

namespace afore::placement::tiles {

using Tiles = std::int32_t;  // targets of 2^30 tiles and more are planned elsewhere (planner.cc)

struct Standing {
  static constexpr int kNone = -1;

  // Does nothing while placement and draining workers are those of the last call.
  void reset(const LayerPlacement& placement, std::span<const WorkerTraits> traits);

  // Consecutive experts whose first replica is on one worker.
  struct Run {
    int begin = 0, end = 0, worker = 0;
  };
  // A regular slot that holds no primary. `replica` is the id of what it alone holds on its worker; kNone: evicting
  // touches nothing (empty, or held twice).
  struct Slot {
    int slot = 0, index = 0, replica = kNone;
    bool empty = false;
  };

  std::span<const int> movable(int worker) const {
    return std::span(movable_ids).subspan(movable_first[worker], movable_first[worker + 1] - movable_first[worker]);
  }
  std::span<const Slot> slots_of(int worker) const {
    return std::span(slots).subspan(slot_first[worker], slot_first[worker + 1] - slot_first[worker]);
  }

  ReplicaTable table;
  std::uint64_t version = 0;   // changes with the contents
  std::vector<Run> runs;       // experts that nobody holds are in none
  std::vector<Run> stretches;  // the same, cut so that experts with several replicas are stretches of their own
  std::vector<int> movable_first, movable_ids;  // by worker: ids of experts with more than one replica
  std::vector<int> slot_first;
  std::vector<Slot> slots;

 private:
  void list_slots(const LayerPlacement& placement);

  std::uint64_t stamp_ = 0;
  std::vector<std::uint8_t> draining_;
  std::vector<int> seen_, replica_;  // by expert: the worker last found to hold it, and its replica there
};

}  // namespace afore::placement::tiles
