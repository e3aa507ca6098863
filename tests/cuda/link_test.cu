// Says what CUDA finds here. No driver and no device are answers, not failures; where there is a device, a kernel
// must run on it.
#include <cuda_runtime.h>

#include <cstdio>
#ifdef AFORE_HAVE_NCCL
#include <nccl.h>
#endif

namespace {

__global__ void add_one(int* value) { *value += 1; }

enum class KernelRun { right, wrong, not_built };

KernelRun run_kernel() {
  int* device = nullptr;
  int host = 41;
  if (cudaMalloc(&device, sizeof(int)) != cudaSuccess) return KernelRun::wrong;
  bool ok = cudaMemcpy(device, &host, sizeof(int), cudaMemcpyHostToDevice) == cudaSuccess;
  add_one<<<1, 1>>>(device);
  const cudaError_t launched = cudaGetLastError();
  ok = ok && launched == cudaSuccess;
  ok = ok && cudaMemcpy(&host, device, sizeof(int), cudaMemcpyDeviceToHost) == cudaSuccess;
  cudaFree(device);
  if (launched == cudaErrorNoKernelImageForDevice) return KernelRun::not_built;
  return ok && host == 42 ? KernelRun::right : KernelRun::wrong;
}

}  // namespace

int main() {
#ifdef AFORE_HAVE_NCCL
  int nccl = 0;
  if (ncclGetVersion(&nccl) != ncclSuccess || nccl < 2000) {
    std::printf("NCCL does not tell its version\n");
    return 1;
  }
  std::printf("NCCL %d\n", nccl);
#endif
  int devices = 0;  // left as it is when the call fails
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    std::printf("no device (%d, %s)\n", static_cast<int>(status), cudaGetErrorName(status));
    return 0;
  }
  cudaDeviceProp properties = {};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 1;
  std::printf("%d device(s), the first: %s, sm_%d%d\n", devices, properties.name, properties.major, properties.minor);
  const KernelRun run = run_kernel();
  if (run == KernelRun::not_built) std::printf("no kernel was built for it (CMAKE_CUDA_ARCHITECTURES)\n");
  return run == KernelRun::wrong ? 1 : 0;
}
