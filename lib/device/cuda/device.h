#pragma once
// The CUDA device: workers on the GPUs of one process.
#include "device/cuda/attention_worker.h"
#include "device/cuda/expert_worker.h"
#include "device/cuda/gpus.h"
#include "device/cuda/topology.h"

namespace afore::device::cuda {

// With Combine::partial and a GPU for each worker, partial outputs are summed by groups of GPUs that `make_group`
// makes, one for each attention worker, if it is not null. Else FFN workers write them to where the attention worker
// adds them.
class CudaDevice final : public Device {
 public:
  // `config` and `tensors` must outlive it. Error{usage}: a shape that the kernels do not compute.
  CudaDevice(const FoundGpus& found, const nn::ModelConfig& config, const nn::ModelTensors& tensors,
             const DeviceOptions& options, const SumGroupMaker& make_group);

  std::string name() const override;
  std::string sharing() const override;
  std::unique_ptr<Attention> make_attention(int worker) override;
  std::unique_ptr<ExpertWorker> make_experts(int worker, std::int64_t slots) override;
  void load_everywhere(std::span<const int> layers) override;
  void abort(const std::string& why) noexcept override;

 private:
  const Partition& partition_of(const std::vector<int>& places, const std::vector<int>& among_its, int worker) const;
  void make_sums(const SumGroupMaker& make_group);

  const std::string model_;  // of the GPUs
  const nn::ModelConfig& config_;
  const nn::ModelTensors& tensors_;
  const DeviceOptions options_;
  const Topology topology_;
  const std::vector<int> gpus_;  // that have workers
  const bool peers_;
  std::vector<Partitions> partitions_;  // by place among gpus_
  // By place among gpus_; made when the first worker there needs them.
  std::vector<std::unique_ptr<AttentionWeights>> weights_;
  std::vector<std::unique_ptr<ExpertStore>> everywhere_;
  std::deque<Lane> sum_lanes_;                      // by FFN worker
  std::vector<std::unique_ptr<PartialSums>> sums_;  // by attention worker
};

}  // namespace afore::device::cuda
