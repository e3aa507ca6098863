#pragma once
// A layer's demand over a whole stream in bounded memory: the steps in blocks, each with the sums of its counts.
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/records.h"

namespace afore::demand {

// Between kMostBlocks / 2 and kMostBlocks of equally many steps; fewer steps are blocks of their own. When the blocks
// run out, neighbours are merged two and two. Demands of a step may come in any order, steps do not fall.
class Blocks {
 public:
  static constexpr std::size_t kMostBlocks = 32;

  // Error{data} when the counts of a block sum to more than 2^60.
  void observe(const Demand& demand);

  // By layer: [blocks][experts]; zeros where a layer had no demand.
  const std::map<int, std::vector<std::int64_t>>& layers();
  std::size_t experts() const { return experts_; }
  std::size_t blocks() const { return blocks_; }
  std::int64_t steps() const { return steps_; }

 private:
  void begin_step(std::int64_t step);
  void merge();

  std::size_t experts_ = 0, blocks_ = 0;
  std::int64_t steps_ = 0, last_step_ = -1;
  std::int64_t steps_per_block_ = 1;
  std::map<int, std::vector<std::int64_t>> layers_;
};

}  // namespace afore::demand
