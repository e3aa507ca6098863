#include "demand/blocks.h"

#include <string>

#include "util/error.h"

namespace afore::demand {
namespace {

// Two merged blocks of this stay within 63 bits.
constexpr std::int64_t kMostLoad = std::int64_t{1} << 60;

}  // namespace

void Blocks::merge() {
  const std::size_t half = (blocks_ + 1) / 2;
  for (auto& [layer, loads] : layers_) {
    loads.resize(blocks_ * experts_, 0);
    for (std::size_t block = 0; block < half; ++block)
      for (std::size_t e = 0; e < experts_; ++e) {
        std::int64_t sum = loads[2 * block * experts_ + e];
        if (2 * block + 1 < blocks_) sum += loads[(2 * block + 1) * experts_ + e];
        loads[block * experts_ + e] = sum;
      }
    loads.resize(half * experts_);
  }
  blocks_ = half;
  steps_per_block_ *= 2;
}

void Blocks::begin_step(std::int64_t step) {
  if (step == last_step_) return;
  last_step_ = step;
  if (steps_ == steps_per_block_ * static_cast<std::int64_t>(kMostBlocks)) merge();
  blocks_ = static_cast<std::size_t>(steps_ / steps_per_block_) + 1;
  ++steps_;
}

void Blocks::observe(const Demand& demand) {
  if (experts_ == 0) experts_ = demand.counts.size();
  AFORE_CHECK(demand.counts.size() == experts_, "demands of one model have equally many experts");
  begin_step(demand.target.step);
  std::vector<std::int64_t>& loads = layers_[demand.target.layer];
  loads.resize(blocks_ * experts_, 0);
  const std::size_t at = (blocks_ - 1) * experts_;
  for (std::size_t e = 0; e < experts_; ++e) {
    loads[at + e] += demand.counts[e];  // a count is at most 2^53
    if (loads[at + e] > kMostLoad)
      throw Error(ErrorKind::data, "the counts of layer " + std::to_string(demand.target.layer) + " sum to over 2^60");
  }
}

const std::map<int, std::vector<std::int64_t>>& Blocks::layers() {
  for (auto& [layer, loads] : layers_) loads.resize(blocks_ * experts_, 0);
  return layers_;
}

}  // namespace afore::demand
