#include "kernels/shim/status.h"

#include <utility>

#include "kernels/shim/devices.h"
#include "kernels/shim/settings.h"

namespace afore::shim {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local bool in_host_function = false;
bool has_fault = false;
std::string fault;

struct Named {
  cudaError_t error;
  const char *name, *text;
};
constexpr Named kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
};
constexpr Named kUnrecognized = {cudaSuccess, "unrecognized error code", "unrecognized error code"};

const Named& named(cudaError_t error) {
  for (const Named& one : kErrors)
    if (one.error == error) return one;
  return kUnrecognized;
}

}  // namespace

cudaError_t report(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t refusal() {
  if (in_host_function) return cudaErrorNotPermitted;
  if (num_devices() == 0) return cudaErrorNoDevice;
  return has_fault ? cudaErrorLaunchFailure : cudaSuccess;
}

bool faulted() { return has_fault; }
void set_fault(const std::string& text) {
  has_fault = true;
  fault = text;
}
void clear_fault() {
  has_fault = false;
  fault.clear();
  last_error = cudaSuccess;
}

InHostFunction::InHostFunction() { in_host_function = true; }
InHostFunction::~InHostFunction() { in_host_function = false; }

std::string last_fault() {
  const Lock lock = take_lock();
  return fault;
}

}  // namespace afore::shim

// After a fault nothing but a reset changes the last error.
cudaError_t cudaGetLastError() {
  const auto lock = afore::shim::take_lock();
  if (afore::shim::faulted()) return cudaErrorLaunchFailure;
  return std::exchange(afore::shim::last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  const auto lock = afore::shim::take_lock();
  return afore::shim::faulted() ? cudaErrorLaunchFailure : afore::shim::last_error;
}
const char* cudaGetErrorName(cudaError_t error) { return afore::shim::named(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return afore::shim::named(error).text; }
