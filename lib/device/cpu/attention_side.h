#pragma once
// The attention worker's part of a decoder: everything but the routed experts. One object per attention worker; the
// weights are shared. A step goes: begin(), then for each MoE layer to_gate() and, when the experts' rows are in `y`,
// combine(); at the end sample(). Dense layers run where they stand, inside to_gate() and sample().
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "device/cpu/attention.h"
#include "device/cpu/kv_cache.h"
#include "device/cpu/step_state.h"
#include "device/cpu/weights.h"

namespace afore::device::cpu {

enum class Combine { exact, partial };

class AttentionSide {
 public:
  // `weights` and `rotary` must outlive it; `pool` may be null.
  AttentionSide(const Kernels& kernels, const AttentionWeights& weights, const RotaryTable& rotary,
                std::int64_t kv_pages, ThreadPool* pool);

  KvCache& cache() { return cache_; }

  // Token ids into hidden states; slices and token_ids are set. Extends the sequences' pages.
  void begin(StepState& step);
  // Through MoE layer `layer`'s attention and gate, which runs here and nowhere else: x, experts, weights, the sorted
  // pairs, and the shared experts' part.
  void to_gate(StepState& step, int layer);
  // residual += what the experts returned. `used`: partial only, whether FFN worker w wrote its part.
  void combine(StepState& step, Combine mode, const std::vector<bool>& used);
  // Through the layers behind the last MoE layer to the next tokens.
  void sample(StepState& step);
  // The logits of slices that sampled, in order, [slices][vocab]; valid until the next sample().
  std::span<const float> logits() const { return logits_; }
  // Called by sample() when there are some, on its thread: to compare what two runs computed. Set before the first
  // step.
  using Observer = std::function<void(const StepState& step, std::span<const float> logits)>;
  void observe(Observer observer) { observer_ = std::move(observer); }
  std::int64_t gate_tokens() const { return gate_tokens_; }  // how often the gate was evaluated, by token

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
  ThreadPool* pool_;
  Scratch scratch_;
  std::vector<std::unique_ptr<Scratch>> thread_scratch_;
  std::vector<float> qkv_, attended_, gate_logits_, logits_, last_;
  std::vector<const float*> in_rows_;
  std::vector<float*> out_rows_;
  std::vector<std::pair<const Slice*, std::int64_t>> places_;  // by token: its slice and position
  std::int64_t gate_tokens_ = 0;
  Observer observer_;
};

}  // namespace afore::device::cpu
