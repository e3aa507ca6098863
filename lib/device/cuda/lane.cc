#include "device/cuda/lane.h"

#include <algorithm>
#include <utility>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"
#include "util/error.h"

namespace afore::device::cuda {

Lane::Lane(int gpu, Kind kind, Partition partition) : gpu_(gpu), partition_(std::move(partition)) {
  use(gpu);
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for stream priorities");
  const int priority = kind == Kind::copies ? least : greatest;
  if (partition_) stream_ = partition_->make_stream(priority);
  else check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority), "making a stream");
  for (cudaEvent_t& event : events_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
}

Lane::~Lane() {
  cudaSetDevice(gpu_);
  cudaStreamSynchronize(stream_);
  for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  cudaStreamDestroy(stream_);
}

Ticket Lane::record() {
  const std::lock_guard lock(mutex_);
  const Ticket ticket = last_ + 1;
  if (ticket > kEvents + done_) {
    check(cudaEventSynchronize(event(ticket)), "waiting for a GPU");
    done_ = ticket - kEvents;
  }
  check(cudaEventRecord(event(ticket), stream_), "recording an event");
  return last_ = ticket;
}

void Lane::wait(Ticket ticket) {
  {
    const std::lock_guard lock(mutex_);
    AFORE_CHECK(ticket <= last_, "a ticket of another lane");
    if (ticket <= done_) return;
  }
  // If its event is recorded anew meanwhile, the wait is longer.
  check(cudaEventSynchronize(event(ticket)), "waiting for a GPU");
  const std::lock_guard lock(mutex_);
  done_ = std::max(done_, ticket);
}

bool Lane::done(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  if (ticket <= done_) return true;
  const cudaError_t code = cudaEventQuery(event(ticket));
  if (code == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(code, "waiting for a GPU");
  done_ = ticket;
  return true;
}

void Lane::order(cudaStream_t later, Ticket ticket) {
  const std::lock_guard lock(mutex_);
  if (ticket <= done_) return;
  check(cudaStreamWaitEvent(later, event(ticket), 0), "making a stream wait");
}

void Lane::wait_for_all() {
  Ticket last = 0;
  {
    const std::lock_guard lock(mutex_);
    last = last_;
  }
  check(cudaStreamSynchronize(stream_), "waiting for a GPU");
  const std::lock_guard lock(mutex_);
  done_ = std::max(done_, last);
}

}  // namespace afore::device::cuda
