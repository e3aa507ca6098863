#pragma once
// This machine's processors. Operations run on the threads that call, and on those of a pool a worker.
#include "device/cpu/attention_side.h"
#include "device/cpu/kernels.h"
#include "device/cpu/weights.h"
#include "device/device.h"

namespace afore::device::cpu {

class CpuDevice final : public Device {
 public:
  // `model` and `weights` outlive the device. `worker_threads`: that each worker computes with.
  CpuDevice(const nn::Model& model, const AttentionWeights& weights, const DeviceOptions& options, Isa isa,
            int worker_threads);

  std::string name() const override { return std::string("cpu-") + to_string(kernels_.isa()); }
  std::unique_ptr<Attention> make_attention(int worker) override;
  std::unique_ptr<ExpertWorker> make_experts(int worker, std::int64_t slots) override;
  void load_everywhere(std::span<const int> layers) override;

 private:
  std::shared_ptr<ThreadPool> make_pool() const;

  const Kernels& kernels_;
  const nn::Model& model_;
  const AttentionWeights& weights_;
  DeviceOptions options_;
  int worker_threads_;
  RotaryTable rotary_;
  std::vector<Block> everywhere_;
};

}  // namespace afore::device::cpu
