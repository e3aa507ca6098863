#pragma once
// GPUs that sum what each of them holds, so that every one of them has the whole sum (an all-reduce).
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "device/cuda/local_rank.h"
#include "kernels/gpu.h"

namespace afore::device::cuda {

// One rank's part in a sum. `send` and `receive` are on the rank's device and may be the same; they stay untouched by
// others until `stream` has passed the sum.
struct SumPart {
  int rank;
  cudaStream_t stream;
  const float* send;
  float* receive;
  std::size_t count;  // of floats, the same on all ranks
};

// Whatever fails (Error{io}) breaks the group for good: everything under way ends, with values that mean nothing, and
// every call, on any thread, throws the first reason.
class SumGroup {
 public:
  using Timeout = std::chrono::milliseconds;

  virtual ~SumGroup() = default;

  // Puts a sum over all ranks onto the streams, with a part for each rank of this process. `sequence` counts the
  // group's sums 0, 1, 2, ... alike in every process: a call waits until those before it are made, so that threads may
  // call in any order and every rank still has the same one.
  virtual void all_reduce(std::uint64_t sequence, std::span<const SumPart> parts, Timeout timeout) = 0;

  // Throws what has failed since, on any rank.
  virtual void check() = 0;

  // Breaks the group, from any thread, also while others are in a call.
  virtual void abort(const std::string& why) noexcept = 0;
};

// A group of these ranks, which are all there are.
using SumGroupMaker = std::function<std::unique_ptr<SumGroup>(std::span<const LocalRank> ranks)>;

std::unique_ptr<SumGroup> make_nccl_group(std::span<const LocalRank> ranks);  // where NCCL is compiled in

}  // namespace afore::device::cuda
