#pragma once
// An attention worker on a GPU. Everything of a step is enqueued on one stream, without waiting: from combine() to the
// next gate, and the shared experts behind it.
#include <deque>

#include "device/cuda/partial_sums.h"
#include "device/cuda/weights.h"

namespace afore::device::cuda {

class AttentionWorker final : public Attention {
 public:
  // `config`, `weights` and `sums` must outlive it. `sums`: null where FFN workers return their outputs to this GPU.
  // Computes on the SMs of `partition`.
  AttentionWorker(const StepPlace& place, Partition partition, const nn::ModelConfig& config,
                  const AttentionWeights& weights, const DeviceOptions& options, PartialSums* sums);

  PagePool& pages() override { return pages_; }
  std::unique_ptr<Step> make_step() override { return std::make_unique<CudaStep>(place_, lane_); }
  void begin(Step& step) override;
  Ticket to_gate(Step& step, int layer) override;
  void combine(Step& step, const std::vector<bool>& used) override;
  Ticket sample(Step& step) override;
  void wait(Ticket ticket) override;
  void observe(Observer observer) override { observer_ = std::move(observer); }
  std::int64_t gate_tokens() const override { return gate_tokens_; }

 private:
  // What one step after the other uses, in the stream's order.
  struct Scratch {
    explicit Scratch(int gpu);
    Buffer<float> qkv, q, delta, attend, gate_logits, last, logits;
    Buffer<std::uint16_t> attended, h, last_x;
    Buffer<std::int32_t> ids, tokens;
    Buffer<kernels::WorkCounts> counts;
    Buffer<kernels::Tile> tiles;
  };
  struct Told {  // what a ticket tells the host
    Ticket ticket = 0;
    CudaStep* step = nullptr;
    int layer = -1;  // whose gate; -1: sampled
  };
  void grow_scratch(const CudaStep& step);
  void attention(CudaStep& step, int layer);
  void gate(CudaStep& step, int layer);
  const float* shared_of(const CudaStep& step) const;  // what the layer's shared experts add; null: there are none
  void add_sum(CudaStep& step, const std::vector<bool>& used);
  void add_sums(CudaStep& step, const std::vector<bool>& used);
  void mlp(CudaStep& step, int layer);
  void dense_layers(CudaStep& step, int end);  // those before `end` that have not run
  void head(CudaStep& step);
  void tell(const Told& told);
  std::uint16_t* cache(int layer) const;

  const StepPlace place_;
  const nn::ModelConfig& config_;
  const AttentionWeights& weights_;
  const DeviceOptions options_;
  PartialSums* const sums_;
  const kernels::AttentionShape shape_;
  const kernels::GateRule rule_;
  const std::int64_t page_count_;
  PagePool pages_;
  Buffer<std::uint16_t> cache_;  // [layers][pages]…, as kernels/attention.h has a layer
  Scratch scratch_;
  std::deque<Told> told_;
  Observer observer_;
  std::int64_t gate_tokens_ = 0;
  Lane lane_;  // the last, so that it is done before memory goes
};

}  // namespace afore::device::cuda
