#pragma once
// Holds streams of any GPU back until everything that is to begin together is enqueued: the time that the host needs
// for that is then in no measurement. A gate that nobody opens in time opens by itself.
#include <condition_variable>
#include <mutex>

#include "device/cuda/lane.h"
#include "device/cuda/transfer_event.h"

namespace afore::device::cuda {

class StartGate {
 public:
  // Streams hold only so many operations (about a thousand); beyond that the host would wait for what waits for it.
  static constexpr int kMostHeld = 256;  // in one stream

  explicit StartGate(int gpu);

  // Shut from here until open(), or its own end.
  class Shut {
   public:
    explicit Shut(StartGate& gate);
    ~Shut() { open(); }
    Shut(const Shut&) = delete;
    Shut& operator=(const Shut&) = delete;
    void hold(cudaStream_t stream);  // of the GPU that is in use
    void open();

   private:
    StartGate& gate_;
  };

 private:
  static void wait_until_open(void* gate);  // on a thread of CUDA's

  const int gpu_;
  Lane lane_;
  Event passed_;
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = true;
};

}  // namespace afore::device::cuda
