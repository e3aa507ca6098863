#pragma once
// Copies by ncclSend and ncclRecv. They are kernels on both GPUs, so they take multiprocessors from what else runs
// there, and a receiver has to enter them.
//
// One communicator has a rank for each worker, and each rank one stream. Copies that go at the same time are one NCCL
// group, sends and receives: on each GPU they are one kernel, and all GPUs have the kernels in the order of the groups.
// So no kernel waits for one that is behind another, whoever sends to whom; with a communicator or a stream for each
// port, two GPUs could each have begun what the other has still to get to.
#include <chrono>

#include "device/cuda/copy_route.h"

namespace afore::device::cuda {

// Each lane on a GPU of its own. `patience`: for all ranks to come, and for what was enqueued to be done, besides a
// time for its bytes; Error{io} behind it, and when NCCL fails, with its words. Then nothing of it is under way any
// more.
std::unique_ptr<CopyRoute> make_nccl_route(CopyLanes lanes, std::chrono::milliseconds patience);

}  // namespace afore::device::cuda
