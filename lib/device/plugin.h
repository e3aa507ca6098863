#pragma once
// Devices that a tool does not link: a shared library beside it, loaded when asked for. Both are of one build; the
// library refuses another version.
#include <memory>
#include <string>

#include "device/device.h"
#include "device/transfers.h"
#include "nn/config.h"
#include "nn/weights.h"

namespace afore::device {

inline constexpr int kCudaTileTokens = 16;  // where nobody says another: at decode an expert has few rows

class Plugin {
 public:
  virtual ~Plugin() = default;
  // Why there is nothing to compute on ("no driver: …"), in one line; empty where there is.
  virtual std::string unavailable() const = 0;
  virtual bool is_tile(int tile_tokens) const = 0;
  virtual std::int64_t free_bytes() const = 0;  // of the device that has least
  // `config` and `tensors` outlive the device. Error{io}: memory; Error{usage}: a shape that it does not compute.
  virtual std::unique_ptr<Device> open(const nn::ModelConfig& config, const nn::ModelTensors& tensors,
                                       const DeviceOptions& options) = 0;
  // Copies and FFN between workers of its own, to measure with. Error{io} as open().
  virtual std::unique_ptr<Transfers> open_transfers(const TransferOptions& options) = 0;
};

// What the library exports: returns null, and says why in `*why`, for another version than its own.
inline constexpr char kPluginSymbol[] = "afore_device_plugin";
using PluginEntry = Plugin* (*)(const char* version, const char** why);

// libafore_cuda.so: $AFORE_CUDA_PLUGIN, else beside the tool or in ../lib of it. Loaded once, never unloaded. Error{io}
// with the loader's words when there is none or it does not load.
Plugin& cuda_plugin();
// Why nothing can be computed on CUDA devices, in one line; empty where there is one.
std::string why_no_cuda();

}  // namespace afore::device
