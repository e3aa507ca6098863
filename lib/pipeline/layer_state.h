#pragma once
// What the planner knows of one layer: its map, and which of its slots have work under way.
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/assignment.h"
#include "core/placement.h"

namespace afore::pipeline {

// State of one layer. Indices are LayerPlacement::index().
struct LayerState {
  LayerState(LayerPlacement initial, std::int64_t microbatches);
  // Slots with work in the last M-1 targets of the layer, which no copy may overwrite.
  std::span<const std::uint8_t> busy() const { return busy_; }
  // Those that no copy may overwrite for good: of lost workers.
  std::span<const std::uint8_t> closed() const { return closed_; }
  void record_use(std::span<const TileShare> assignment, std::int64_t serial);
  // No copy goes to this worker any more: it is lost.
  void close_worker(int worker);

  LayerPlacement placement;
  std::vector<std::int64_t> last_used;  // serial of the last target with work in the slot, -1 = never
  bool announced = false;               // its placement record was written

 private:
  std::vector<std::uint8_t> closed_;  // slots of lost workers
  std::vector<std::uint8_t> busy_;
  std::vector<std::vector<std::size_t>> recent_;  // ring of M-1 lists of used slots
  std::size_t next_ = 0;
};

using LayerStates = std::map<int, std::unique_ptr<LayerState>>;

}  // namespace afore::pipeline
