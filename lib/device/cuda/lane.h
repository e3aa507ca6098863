#pragma once
// A stream and the tickets of what was enqueued on it. Enqueued on by one thread at a time; what waits or orders may
// come from any.
#include <array>
#include <mutex>

#include "device/cuda/partitions.h"
#include "device/device.h"

namespace afore::device::cuda {

class Lane {
 public:
  // Copies give way to what computes on the same GPU.
  enum class Kind { compute, copies };
  // On the SMs of `partition`, which is of that GPU, or on all of them.
  Lane(int gpu, Kind kind, Partition partition = nullptr);
  ~Lane();  // when everything is done
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  int gpu() const { return gpu_; }
  cudaStream_t stream() const { return stream_; }

  Ticket record();  // of everything enqueued until here
  void wait(Ticket ticket);
  bool done(Ticket ticket);
  // What is enqueued on `later` from now on runs when the ticket's work is done.
  void order(cudaStream_t later, Ticket ticket);
  void wait_for_all();  // that was enqueued before

 private:
  // So many tickets may be under way; a further one waits for the oldest.
  static constexpr Ticket kEvents = 64;
  cudaEvent_t& event(Ticket ticket) { return events_[ticket % kEvents]; }

  const int gpu_;
  const Partition partition_;  // goes after the stream
  cudaStream_t stream_ = nullptr;
  std::mutex mutex_;  // of what follows
  std::array<cudaEvent_t, kEvents> events_{};
  Ticket last_ = 0, done_ = 0;
};

}  // namespace afore::device::cuda
