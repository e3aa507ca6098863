#pragma once
// A moment of a stream, on the clock of its GPU.
#include "core/ids.h"
#include "kernels/gpu.h"

namespace afore::device::cuda {

class Event {
 public:
  explicit Event(int gpu);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream);
  cudaEvent_t get() const { return event_; }
  Nanos since(const Event& earlier) const;  // both have happened, on one GPU

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace afore::device::cuda
