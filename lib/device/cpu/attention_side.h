#pragma once
// An attention worker on processors: operations run on the calling thread, and with it on those of a pool. The weights
// are shared. Dense layers run where they stand, inside to_gate() and sample().
#include <cstdint>
#include <memory>
#include <span>

#include "device/cpu/attention.h"
#include "device/cpu/kv_cache.h"
#include "device/cpu/layer_gate.h"
#include "device/cpu/step_state.h"
#include "device/cpu/weights.h"
#include "device/device.h"

namespace afore::device::cpu {

class AttentionSide final : public Attention {
 public:
  // `weights` and `rotary` must outlive it; `pool` may be null. `ffn_workers`: that write parts of a partial combine.
  AttentionSide(const Kernels& kernels, const AttentionWeights& weights, const RotaryTable& rotary,
                std::int64_t kv_pages, Combine mode, int ffn_workers, std::shared_ptr<ThreadPool> pool);

  // Steps are StepStates.
  PagePool& pages() override { return cache_.pages(); }
  std::unique_ptr<Step> make_step() override { return std::make_unique<StepState>(); }
  void begin(Step& step) override;
  Ticket to_gate(Step& step, int layer) override;
  void combine(Step& step, const std::vector<bool>& used) override;
  Ticket sample(Step& step) override;
  void wait(Ticket) override {}
  // The logits of slices that sampled, in order, [slices][vocab]; valid until the next sample().
  std::span<const float> logits() const { return logits_; }
  void observe(Observer observer) override { observer_ = std::move(observer); }
  std::int64_t gate_tokens() const override { return gate_tokens_; }

 private:
  void attention(StepState& step, int layer);
  void attend_rows(StepState& step, int layer);
  std::int64_t attention_parts(const StepState& step) const;
  void mlp(StepState& step, int layer, std::vector<float>& out);
  void dense_layers(StepState& step, int end);  // those before `end` that have not run
  void rms_norm(const float* from, const std::vector<float>& weight, std::vector<float>& to, std::int64_t rows);

  const Kernels& kernels_;
  const AttentionWeights& weights_;
  const RotaryTable& rotary_;
  AttentionShape shape_;
  KvCache cache_;
  Combine mode_;
  int ffn_workers_;
  std::shared_ptr<ThreadPool> pool_;
  LayerGate gate_;
  Scratch scratch_;
  std::vector<std::unique_ptr<Scratch>> thread_scratch_;
  std::vector<float> qkv_, attended_, logits_, last_;
  std::vector<const float*> in_rows_;
  std::vector<float*> out_rows_;
  std::vector<std::pair<const Slice*, std::int64_t>> places_;  // by token: its slice and position
  std::int64_t gate_tokens_ = 0;
  Observer observer_;
};

}  // namespace afore::device::cpu
