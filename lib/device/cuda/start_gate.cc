#include "device/cuda/start_gate.h"

#include <chrono>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"

namespace afore::device::cuda {
namespace {

// Far longer than enqueueing takes; who calls CUDA where host functions run on the same thread waits no longer.
constexpr std::chrono::milliseconds kLongest{50};

}  // namespace

void StartGate::wait_until_open(void* gate) {
  StartGate& mine = *static_cast<StartGate*>(gate);
  std::unique_lock lock(mine.mutex_);
  mine.opened_.wait_for(lock, kLongest, [&] { return mine.open_; });
}

StartGate::StartGate(int gpu) : gpu_(gpu), lane_(gpu, Lane::Kind::copies), passed_(gpu) {}

StartGate::Shut::Shut(StartGate& gate) : gate_(gate) {
  use(gate.gpu_);
  {
    const std::lock_guard lock(gate.mutex_);
    gate.open_ = false;
  }
  const cudaError_t code = cudaLaunchHostFunc(gate.lane_.stream(), wait_until_open, &gate);
  if (code == cudaSuccess) gate.passed_.record(gate.lane_.stream());
  else open();
  check(code, "holding GPUs back");
}

void StartGate::Shut::hold(cudaStream_t stream) {
  check(cudaStreamWaitEvent(stream, gate_.passed_.get(), 0), "holding GPUs back");
}

void StartGate::Shut::open() {
  const std::lock_guard lock(gate_.mutex_);
  gate_.open_ = true;
  gate_.opened_.notify_all();
}

}  // namespace afore::device::cuda
