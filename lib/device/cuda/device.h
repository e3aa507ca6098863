#pragma once
// The CUDA device: workers on the GPUs of one process.
#include "device/cuda/attention_worker.h"
#include "device/cuda/expert_worker.h"
#include "device/cuda/gpus.h"
#include "device/cuda/topology.h"

namespace afore::device::cuda {

class CudaDevice final : public Device {
 public:
  // `config` and `tensors` must outlive it. Error{usage}: a shape that the kernels do not compute.
  CudaDevice(const FoundGpus& found, const nn::ModelConfig& config, const nn::ModelTensors& tensors,
             const DeviceOptions& options);

  std::string name() const override;
  bool workers_are_virtual() const override { return topology_.shared; }
  std::unique_ptr<Attention> make_attention(int worker) override;
  std::unique_ptr<ExpertWorker> make_experts(int worker, std::int64_t slots) override;
  void load_everywhere(std::span<const int> layers) override;

 private:
  const std::string model_;  // of the GPUs
  const nn::ModelConfig& config_;
  const nn::ModelTensors& tensors_;
  const DeviceOptions options_;
  const Topology topology_;
  const std::vector<int> gpus_;  // that have workers
  const bool peers_;
  // By place among gpus_; made when the first worker there needs them.
  std::vector<std::unique_ptr<AttentionWeights>> weights_;
  std::vector<std::unique_ptr<ExpertStore>> everywhere_;
};

}  // namespace afore::device::cuda
