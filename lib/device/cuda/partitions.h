#pragma once
// Multiprocessors (SMs) of one GPU for each of the workers that share it, so that none computes on another's: green
// contexts, where the driver has them. The GPU's memory, L2 cache, bandwidth and copy engines stay shared, and that
// kernels of two partitions run at the same time is not promised.
#include <memory>
#include <vector>

#include "core/sm_split.h"
#include "kernels/gpu.h"

namespace afore::device::cuda {

// A green context. Streams must go before it, so who makes one holds the partition for as long.
class SmPartition {
 public:
  virtual ~SmPartition() = default;
  // A non-blocking stream whose kernels run on these SMs, to be destroyed with cudaStreamDestroy. Error{io}.
  virtual cudaStream_t make_stream(int priority) const = 0;
};
using Partition = std::shared_ptr<const SmPartition>;  // null: all SMs of the GPU

struct Partitions {
  std::vector<Partition> of;  // by worker of the GPU; all are null where it was not split
  SmSplit split;
};

// `workers` equal partitions of `gpu`, as large as the driver makes them; a remainder stays unused. With one worker
// there is nothing to split. `split.why_plain` says why there are none, which is no error.
Partitions split_sms(int gpu, int workers, bool wanted);

}  // namespace afore::device::cuda
