#include "device/cuda/transfer_event.h"

#include <cmath>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"

namespace afore::device::cuda {

Event::Event(int gpu) {
  use(gpu);
  check(cudaEventCreate(&event_), "making an event");
}

Event::~Event() { cudaEventDestroy(event_); }

void Event::record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "recording an event"); }

Nanos Event::since(const Event& earlier) const {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, earlier.event_, event_), "reading the time of an event");
  return static_cast<Nanos>(std::llround(static_cast<double>(ms) * 1e6));
}

}  // namespace afore::device::cuda
