#include "device/plugin.h"

#include <cstdlib>
#include <string_view>

#include "device/cuda/device.h"
#ifdef AFORE_HAVE_NCCL_COPIES
#include "device/cuda/nccl_route.h"
#endif
#include "device/cuda/transfers.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

#ifdef AFORE_HAVE_NCCL
constexpr auto make_group = make_nccl_group;
#else
constexpr std::nullptr_t make_group = nullptr;
#endif

#ifdef AFORE_HAVE_NCCL_COPIES
std::unique_ptr<CopyRoute> make_nccl(CopyLanes lanes) { return make_nccl_route(lanes, std::chrono::seconds(60)); }
#else
constexpr std::nullptr_t make_nccl = nullptr;
#endif

class CudaPlugin final : public Plugin {
 public:
  std::string unavailable() const override { return find_gpus().why_none; }
  bool is_tile(int tile_tokens) const override { return kernels::is_tile(tile_tokens); }
  std::int64_t free_bytes() const override { return find_gpus().free_bytes(); }
  std::unique_ptr<Device> open(const nn::ModelConfig& config, const nn::ModelTensors& tensors,
                               const DeviceOptions& options) override {
    const FoundGpus found = find_gpus();
    if (found.gpus.empty()) throw Error(ErrorKind::io, found.why_none);
    return std::make_unique<CudaDevice>(found, config, tensors, options, make_group);
  }
  std::unique_ptr<Transfers> open_transfers(const TransferOptions& options) override {
    const FoundGpus found = find_gpus();
    if (found.gpus.empty()) throw Error(ErrorKind::io, found.why_none);
    TransferOptions settled = options;
    if (settled.tile_tokens == 0) settled.tile_tokens = kCudaTileTokens;
    return std::make_unique<CudaTransfers>(found, settled, make_nccl);
  }
};

}  // namespace
}  // namespace afore::device::cuda

extern "C" __attribute__((visibility("default"))) afore::device::Plugin* afore_device_plugin(const char* version,
                                                                                             const char** why) {
  if (std::string_view(version) != AFORE_VERSION) {
    *why = "it is of afore " AFORE_VERSION;
    return nullptr;
  }
  // Read when CUDA starts. Streams that share one of the usual eight queues wait for each other's events, and a kernel
  // that is loaded at its first launch may be loaded behind a shut gate.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  static afore::device::cuda::CudaPlugin plugin;
  return &plugin;
}
