#include "device/cuda/start_gate.h"

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"

namespace afore::device::cuda {
namespace {

void wait_until_open(void* open) { static_cast<std::atomic<bool>*>(open)->wait(false); }

}  // namespace

StartGate::StartGate(int gpu) : gpu_(gpu), lane_(gpu, Lane::Kind::copies), passed_(gpu) {}

StartGate::Shut::Shut(StartGate& gate) : gate_(gate) {
  use(gate.gpu_);
  gate.open_ = false;
  const cudaError_t code = cudaLaunchHostFunc(gate.lane_.stream(), wait_until_open, &gate.open_);
  if (code == cudaSuccess) gate.passed_.record(gate.lane_.stream());
  else open();
  check(code, "holding GPUs back");
}

void StartGate::Shut::hold(cudaStream_t stream) {
  check(cudaStreamWaitEvent(stream, gate_.passed_.get(), 0), "holding GPUs back");
}

void StartGate::Shut::open() {
  gate_.open_ = true;
  gate_.open_.notify_all();
}

}  // namespace afore::device::cuda
