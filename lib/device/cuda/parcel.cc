#include "device/cuda/parcel.h"

#include "device/cuda/check.h"

namespace afore::device::cuda {

void Parcel::open(Lane& lane, std::size_t bytes) {
  lane.wait(sent_);
  bytes_ = bytes;
  used_ = 0;
  host_.grow(lane, static_cast<std::int64_t>(bytes));
  device_.grow(lane, static_cast<std::int64_t>(bytes));
}

void Parcel::send(Lane& lane) {
  check(cudaMemcpyAsync(device_.data(), host_.data(), used_, cudaMemcpyHostToDevice, lane.stream()),
        "sending a step to a GPU");
  sent_ = lane.record();
}

}  // namespace afore::device::cuda
