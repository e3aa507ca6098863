#include "device/cpu/attention_side.h"

#include <algorithm>
#include <bit>

#include "device/cpu/finite.h"
#include "device/cpu/gate.h"
#include "device/cpu/sample.h"
#include "device/cpu/thread_pool.h"
#include "util/error.h"

namespace afore::device::cpu {
namespace {

float widen(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

void add(const std::vector<float>& from, std::vector<float>& to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}

StepState& state(Step& step) { return static_cast<StepState&>(step); }

}  // namespace

AttentionSide::AttentionSide(const Kernels& kernels, const AttentionWeights& weights, const RotaryTable& rotary,
                             std::int64_t kv_pages, Combine mode, int ffn_workers, std::shared_ptr<ThreadPool> pool)
    : kernels_(kernels),
      weights_(weights),
      rotary_(rotary),
      shape_{weights.config.heads, weights.config.kv_heads, weights.config.head_dim},
      cache_(shape_, weights.config.layers, kv_pages),
      mode_(mode),
      ffn_workers_(ffn_workers),
      pool_(std::move(pool)),
      gate_(kernels, weights, pool_) {
  for (int i = 0; i < (pool_ ? pool_->threads() : 1); ++i) thread_scratch_.push_back(std::make_unique<Scratch>());
}

void AttentionSide::begin(Step& base) {
  StepState& step = state(base);
  const std::size_t hidden = static_cast<std::size_t>(weights_.config.hidden);
  step.next_layer = 0;
  step.residual.resize(step.token_ids.size() * hidden);
  step.x.resize(step.residual.size());
  float* out = step.residual.data();
  for (const int id : step.token_ids) {
    AFORE_CHECK(id >= 0 && id < weights_.config.vocab, "a token is outside the vocabulary");
    const std::uint16_t* row = weights_.embed.data() + static_cast<std::size_t>(id) * hidden;
    for (std::size_t i = 0; i < hidden; ++i) *out++ = widen(row[i]);
  }
  for (const Slice& slice : step.slices) cache_.pages().extend(*slice.pages, slice.first + slice.tokens);
}

void AttentionSide::rms_norm(const float* from, const std::vector<float>& weight, std::vector<float>& to,
                             std::int64_t rows) {
  const std::int64_t n = static_cast<std::int64_t>(weight.size());
  to.resize(static_cast<std::size_t>(rows * n));
  for (std::int64_t r = 0; r < rows; ++r)
    kernels_.rms_norm(from + r * n, weight.data(), weights_.config.rms_eps, to.data() + r * n, n);
}

// Queries, keys and values of one token are one row of qkv_: heads, then key heads, then value heads.
void AttentionSide::attend_rows(StepState& step, int layer) {
  const AttentionLayer& w = weights_.layers[layer];
  const int dim = shape_.head_dim;
  const std::int64_t row_floats = std::int64_t{shape_.heads + 2 * shape_.kv_heads} * dim;
  const std::int64_t out_floats = std::int64_t{shape_.heads} * dim;
  float* cache = cache_.layer(layer);
  places_.clear();
  for (const Slice& slice : step.slices)
    for (std::int64_t i = 0; i < slice.tokens; ++i) places_.emplace_back(&slice, slice.first + i);
  const auto store = [&](std::int64_t t) {
    float* row = qkv_.data() + t * row_floats;
    const auto& [slice, position] = places_[t];
    for (std::size_t i = 0; i < w.qkv_bias.size(); ++i) row[i] += w.qkv_bias[i];
    float* keys = row + out_floats;
    const float eps = weights_.config.rms_eps;
    if (!w.q_norm.empty())
      for (int h = 0; h < shape_.heads; ++h) kernels_.rms_norm(row + h * dim, w.q_norm.data(), eps, row + h * dim, dim);
    if (!w.k_norm.empty())
      for (int h = 0; h < shape_.kv_heads; ++h)
        kernels_.rms_norm(keys + h * dim, w.k_norm.data(), eps, keys + h * dim, dim);
    rotary_.apply(row, shape_.heads, dim, position);
    rotary_.apply(keys, shape_.kv_heads, dim, position);
    store_kv(shape_, keys, keys + std::int64_t{shape_.kv_heads} * dim, *slice->pages, position, cache);
  };
  // All keys first: a token of a prompt attends to those before it in the same step.
  for (std::int64_t t = 0; t < step.tokens(); ++t) store(t);
  attended_.resize(static_cast<std::size_t>(step.tokens() * out_floats));
  struct Job {  // one reference, which a std::function holds without allocating
    AttentionSide& side;
    const float* cache;
    std::int64_t row_floats, out_floats, tokens, parts;

    void operator()(std::int64_t part, Scratch& scratch) const {
      for (std::int64_t t = tokens * part / parts; t < tokens * (part + 1) / parts; ++t)
        attend(side.kernels_, side.shape_, side.qkv_.data() + t * row_floats, cache, *side.places_[t].first->pages,
               side.places_[t].second, side.attended_.data() + t * out_floats, scratch);
    }
  } const job{*this, cache, row_floats, out_floats, step.tokens(), attention_parts(step)};
  if (job.parts == 1) job(0, scratch_);
  else pool_->run(job.parts, [&job, this](std::int64_t part, int thread) { job(part, *thread_scratch_[thread]); });
}

// As many as threads are worth waking for.
std::int64_t AttentionSide::attention_parts(const StepState& step) const {
  constexpr std::int64_t kFloatsPerPart = std::int64_t{1} << 16, kPartsPerThread = 4;
  if (pool_ == nullptr || pool_->threads() == 1) return 1;
  std::int64_t floats = 0;
  for (const auto& [slice, position] : places_) floats += (position + 1) * shape_.page_floats() / kPageTokens;
  const std::int64_t most = std::min<std::int64_t>(step.tokens(), pool_->threads() * kPartsPerThread);
  return std::clamp<std::int64_t>(floats / kFloatsPerPart, 1, std::max<std::int64_t>(1, most));
}

void AttentionSide::attention(StepState& step, int layer) {
  const std::int64_t rows = step.tokens(), hidden = weights_.config.hidden;
  const Packed qkv = weights_.qkv(layer), o = weights_.o(layer);
  rms_norm(step.residual.data(), weights_.layers[layer].input_norm, step.x, rows);
  qkv_.resize(static_cast<std::size_t>(rows * qkv.n));
  kernels_.matmul(step.x.data(), hidden, rows, qkv, qkv_.data(), qkv.n, scratch_, pool_.get());
  attend_rows(step, layer);
  kernels_.matmul(attended_.data(), o.k, rows, o, step.x.data(), hidden, scratch_, pool_.get());
  add(step.x, step.residual, static_cast<std::size_t>(rows * hidden));
  rms_norm(step.residual.data(), weights_.layers[layer].post_attention_norm, step.x, rows);
}

void AttentionSide::mlp(StepState& step, int layer, std::vector<float>& out) {
  const std::int64_t rows = step.tokens(), hidden = weights_.config.hidden;
  out.resize(static_cast<std::size_t>(rows * hidden));
  in_rows_.clear();
  out_rows_.clear();
  for (std::int64_t r = 0; r < rows; ++r) {
    in_rows_.push_back(step.x.data() + r * hidden);
    out_rows_.push_back(out.data() + r * hidden);
  }
  const ExpertRows all{weights_.layers[layer].mlp.data(), in_rows_, out_rows_};
  kernels_.expert_ffn(weights_.mlp_shape(layer), {&all, 1}, scratch_, pool_.get());
}

void AttentionSide::dense_layers(StepState& step, int end) {
  for (; step.next_layer < end; ++step.next_layer) {
    AFORE_CHECK(!weights_.config.is_moe[step.next_layer], "a MoE layer was passed over");
    attention(step, step.next_layer);
    mlp(step, step.next_layer, step.shared);
    add(step.shared, step.residual, static_cast<std::size_t>(step.tokens() * weights_.config.hidden));
  }
}

Ticket AttentionSide::to_gate(Step& base, int layer) {
  StepState& step = state(base);
  const nn::GateConfig& gate = weights_.config.gate;
  const std::int64_t rows = step.tokens();
  dense_layers(step, layer);
  attention(step, layer);
  step.next_layer = layer + 1;
  gate_.choose(layer, step.x.data(), rows, step.experts, step.weights);
  gate_tokens_ += rows;
  step.sort_by_expert(gate.experts);
  if (weights_.config.shared_intermediate > 0) mlp(step, layer, step.shared);
  const std::int64_t out_rows = mode_ == Combine::exact ? gate.top_k : ffn_workers_;
  step.y.resize(static_cast<std::size_t>(rows * out_rows * weights_.config.hidden));
  return 0;
}

void AttentionSide::combine(Step& base, const std::vector<bool>& used) {
  StepState& step = state(base);
  const std::int64_t rows = step.tokens(), hidden = weights_.config.hidden, top_k = weights_.config.gate.top_k;
  const bool shared = weights_.config.shared_intermediate > 0;
  if (mode_ == Combine::exact) {
    for (std::int64_t t = 0; t < rows; ++t)
      combine_exact(std::span(step.weights).subspan(t * top_k, top_k), step.y.data() + t * top_k * hidden,
                    shared ? step.shared.data() + t * hidden : nullptr, step.residual.data() + t * hidden,
                    step.residual.data() + t * hidden, hidden);
    return;
  }
  const std::size_t n = static_cast<std::size_t>(rows * hidden);
  for (std::size_t w = 0; w < used.size(); ++w)
    if (used[w])
      for (std::size_t i = 0; i < n; ++i) step.residual[i] += step.y[w * n + i];
  if (shared) add(step.shared, step.residual, n);
}

Ticket AttentionSide::sample(Step& base) {
  StepState& step = state(base);
  const std::int64_t hidden = weights_.config.hidden, vocab = weights_.config.vocab;
  dense_layers(step, weights_.config.layers);
  last_.clear();
  std::int64_t row = -1, samples = 0;
  for (const Slice& slice : step.slices) {
    row += slice.tokens;
    if (!slice.samples) continue;
    ++samples;
    last_.insert(last_.end(), step.residual.begin() + row * hidden, step.residual.begin() + (row + 1) * hidden);
  }
  step.sampled.assign(step.slices.size(), -1);
  logits_.resize(static_cast<std::size_t>(samples * vocab));
  if (samples == 0) return 0;
  check_finite(last_.data(), samples * hidden, "the last hidden states");
  rms_norm(last_.data(), weights_.final_norm, step.x, samples);
  kernels_.matmul(step.x.data(), hidden, samples, weights_.head(), logits_.data(), vocab, scratch_, pool_.get());
  if (observer_) observer_(step, logits_);
  std::int64_t at = 0;
  for (std::size_t s = 0; s < step.slices.size(); ++s) {
    const Slice& slice = step.slices[s];
    if (!slice.samples) continue;
    step.sampled[s] =
        device::cpu::sample(std::span(logits_).subspan(at * vocab, vocab), slice.sampling, slice.sample_index);
    ++at;
  }
  return 0;
}

}  // namespace afore::device::cpu
