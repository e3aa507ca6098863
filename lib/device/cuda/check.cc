#include "device/cuda/check.h"

#include <fmt/format.h>

#include "util/error.h"

namespace afore::device::cuda {

std::string describe(cudaError_t code) {
  return fmt::format("{} ({})", cudaGetErrorString(code), cudaGetErrorName(code));
}

void check(cudaError_t code, const char* what, const char* hint) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // the next check is of what follows
  throw Error(ErrorKind::io, fmt::format("{}: {}", what, describe(code)),
              code == cudaErrorMemoryAllocation ? hint : "");
}

}  // namespace afore::device::cuda
