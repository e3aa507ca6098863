#pragma once
// How partial outputs come together where every worker has a GPU of its own: FFN workers leave their sums on their own
// GPUs, and an all-reduce over those and the attention worker's GPU adds them.
//
// Sums have streams of their own, since a worker may be at its next target already. On an FFN worker's GPU it is one
// for all attention workers, and a sum is put onto all its streams before the next one is: so every GPU has them in one
// order. Two sums in another order on two GPUs could each wait for the other's.
#include "device/cuda/step.h"
#include "device/cuda/sum_group.h"

namespace afore::device::cuda {

// Of one attention worker.
class PartialSums {
 public:
  // Its ranks: FFN workers by index, then the attention worker's GPU.
  PartialSums(const SumGroupMaker& make, int gpu, std::span<Lane* const> ffn);

  // On the step's lane from here on, y = the sum of what the FFN workers that are `used` returned. [count] floats.
  // Another GPU is the calling thread's afterwards.
  void sum(CudaStep& step, const std::vector<bool>& used, std::int64_t count);
  void check() { group_->check(); }
  void abort(const std::string& why) noexcept { group_->abort(why); }

 private:
  Lane lane_;
  std::uint64_t next_ = 0;
  std::unique_ptr<SumGroup> group_;  // the last: what it has under way holds lanes up
};

}  // namespace afore::device::cuda
