#include "device/cuda/attention_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"
#include "kernels/vectors.h"

namespace afore::device::cuda {
namespace {

Error not_finite(const std::string& what) {
  return Error(ErrorKind::data, what + " of a token are not finite: the model's weights overflow",
               "check the checkpoint");
}

}  // namespace

AttentionWorker::Scratch::Scratch(int gpu)
    : qkv(Place{gpu, false, "memory for attention", "give a smaller --max-num-batched-tokens"}),
      q(qkv.place()),
      delta(qkv.place()),
      attend(qkv.place()),
      gate_logits(qkv.place()),
      last(qkv.place()),
      logits(qkv.place()),
      attended(qkv.place()),
      h(qkv.place()),
      last_x(qkv.place()),
      ids(qkv.place()),
      tokens(qkv.place()),
      counts(qkv.place(), 1),
      tiles(qkv.place()) {}

AttentionWorker::AttentionWorker(const StepPlace& place, Partition partition, const nn::ModelConfig& config,
                                 const AttentionWeights& weights, const DeviceOptions& options, PartialSums* sums)
    : place_(place),
      config_(config),
      weights_(weights),
      options_(options),
      sums_(sums),
      shape_(attention_shape(config)),
      rule_(gate_rule(config)),
      page_count_(options.kv_budget_tokens / kPageTokens),
      pages_(page_count_),
      cache_({place.gpu, false, "cached keys and values", "give a smaller --kv-budget-tokens"},
             config.layers * page_count_ * kernels::page_elements(shape_)),
      scratch_(place.gpu),
      lane_(place.gpu, Lane::Kind::compute, std::move(partition)) {}

std::uint16_t* AttentionWorker::cache(int layer) const {
  return cache_.data() + layer * page_count_ * kernels::page_elements(shape_);
}

void AttentionWorker::grow_scratch(const CudaStep& step) {
  Scratch& s = scratch_;
  const std::int64_t rows = step.tokens(), hidden = config_.hidden, samples = step.input.samples;
  const std::int64_t q = std::int64_t{shape_.heads} * shape_.head_dim;
  std::int64_t widest = 0;
  for (int layer = 0; layer < config_.layers; ++layer)
    widest = std::max<std::int64_t>(widest, own_intermediate(config_, layer));
  s.qkv.grow(lane_, rows * (q + std::int64_t{2} * shape_.kv_heads * shape_.head_dim));
  s.q.grow(lane_, rows * q);
  s.attended.grow(lane_, rows * q);
  s.delta.grow(lane_, rows * hidden);
  s.attend.grow(lane_,
                kernels::attend_scratch_floats(shape_, step.input.single_count, step.input.most_single_positions));
  s.gate_logits.grow(lane_, rows * rule_.experts);
  s.ids.grow(lane_, rows * rule_.top_k);
  s.h.grow(lane_, rows * widest);
  s.tiles.grow(lane_, rows / options_.tile_tokens + 1);
  s.last.grow(lane_, samples * hidden);
  s.last_x.grow(lane_, samples * hidden);
  s.logits.grow(lane_, samples * config_.vocab);
  s.tokens.grow(lane_, samples);
}

void AttentionWorker::begin(Step& any) {
  CudaStep& step = static_cast<CudaStep&>(any);
  use(place_.gpu);
  step.next_layer = 0;
  for (const int id : step.token_ids) AFORE_CHECK(id >= 0 && id < config_.vocab, "a token is outside the vocabulary");
  for (const Slice& slice : step.slices) pages_.extend(*slice.pages, slice.first + slice.tokens);
  step.counts.assign(static_cast<std::size_t>(rule_.experts), 0);
  if (step.token_ids.empty()) return;
  const bool exact = options_.combine == Combine::exact;
  step.grow(rule_, config_.hidden, exact ? rule_.top_k : sums_ != nullptr ? 1 : options_.ffn_workers);
  step.send_input(config_.max_positions);
  step.tokens_out.grow(lane_, step.input.samples);
  if (observer_) step.logits_out.grow(lane_, std::int64_t{step.input.samples} * config_.vocab);
  grow_scratch(step);
  check(cudaMemsetAsync(step.routed().not_finite, 0, 2 * sizeof(std::int32_t), lane_.stream()), "clearing flags");
  kernels::embed(weights_.embed, step.input.ids, step.count(), config_.hidden, step.residual.data(), lane_.stream());
  check_launches("embedding tokens");
}

void AttentionWorker::attention(CudaStep& step, int layer) {
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(layer)];
  const std::int32_t rows = step.count(), hidden = config_.hidden;
  const std::int32_t q = shape_.heads * shape_.head_dim, qkv = q + 2 * shape_.kv_heads * shape_.head_dim;
  const cudaStream_t stream = lane_.stream();
  const StepInput& in = step.input;
  Scratch& s = scratch_;
  std::uint16_t* const x = step.routed().x;
  kernels::rms_norm(step.residual.data(), w.input_norm, config_.rms_eps, rows, hidden, x, stream);
  kernels::linear(x, w.qkv, rows, qkv, hidden, s.qkv.data(), stream);
  // All keys first: a token of a prompt attends to those before it in the same step.
  kernels::store_qkv(shape_, w.on_qkv, s.qkv.data(), in.places, rows, weights_.cos_sin, s.q.data(), cache(layer),
                     stream);
  if (in.single_count > 0)
    kernels::attend_decode(shape_, s.q.data(), cache(layer), in.places, in.singles, in.single_count,
                           in.most_single_positions, s.attend.data(), s.attended.data(), stream);
  if (in.run_count > 0)
    kernels::attend_prefill(shape_, s.q.data(), cache(layer), in.places, in.runs, in.run_count, s.attended.data(),
                            stream);
  kernels::linear(s.attended.data(), w.o, rows, hidden, q, s.delta.data(), stream);
  kernels::add_rms_norm(step.residual.data(), s.delta.data(), w.post_attention_norm, config_.rms_eps, rows, hidden, x,
                        stream);
}

// `shared` = the layer's own MLP of x.
void AttentionWorker::mlp(CudaStep& step, int layer) {
  const kernels::ExpertArena& arena = weights_.layers[static_cast<std::size_t>(layer)].mlp;
  const cudaStream_t stream = lane_.stream();
  const std::int32_t rows = step.count(), tile = options_.tile_tokens, most_tiles = (rows + tile - 1) / tile;
  Scratch& s = scratch_;
  kernels::list_dense(rows, tile, s.counts.data(), s.tiles.data(), stream);
  kernels::expert_gate_up(arena, step.routed().x, s.tiles.data(), s.counts.data(), most_tiles, tile, s.h.data(),
                          stream);
  kernels::expert_down(arena, s.h.data(), s.tiles.data(), s.counts.data(), most_tiles, tile, step.shared.data(),
                       stream);
}

void AttentionWorker::dense_layers(CudaStep& step, int end) {
  for (; step.next_layer < end; ++step.next_layer) {
    AFORE_CHECK(!config_.is_moe[static_cast<std::size_t>(step.next_layer)], "a MoE layer was passed over");
    attention(step, step.next_layer);
    mlp(step, step.next_layer);
    kernels::add(step.residual.data(), step.shared.data(), step.tokens() * config_.hidden, lane_.stream());
  }
}

void AttentionWorker::gate(CudaStep& step, int layer) {
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(layer)];
  const cudaStream_t stream = lane_.stream();
  const std::int32_t rows = step.count(), pairs = rows * rule_.top_k;
  const Routed& out = step.routed();
  std::int32_t* const ids = scratch_.ids.data();
  kernels::linear(out.x, w.gate, rows, rule_.experts, config_.hidden, scratch_.gate_logits.data(), stream);
  kernels::gate(rule_, scratch_.gate_logits.data(), w.gate_bias, rows, ids, out.weights, &out.not_finite[0], stream);
  kernels::demand_histogram(ids, pairs, rule_.experts, out.counts, stream);
  kernels::sort_pairs(ids, pairs, rule_.experts, out.counts, out.begin, out.sorted, stream);
  step.publish();
}

Ticket AttentionWorker::to_gate(Step& any, int layer) {
  CudaStep& step = static_cast<CudaStep&>(any);
  if (step.token_ids.empty()) return 0;
  use(place_.gpu);
  dense_layers(step, layer);
  attention(step, layer);
  step.next_layer = layer + 1;
  gate(step, layer);
  gate_tokens_ += step.tokens();
  step.gated = lane_.record();
  told_.push_back({step.gated, &step, layer});
  if (config_.shared_intermediate > 0) mlp(step, layer);
  check_launches("a layer's attention");
  return step.gated;
}

const float* AttentionWorker::shared_of(const CudaStep& step) const {
  return config_.shared_intermediate > 0 ? step.shared.data() : nullptr;
}

// Of all FFN workers, summed on the way.
void AttentionWorker::add_sum(CudaStep& step, const std::vector<bool>& used) {
  const std::int64_t count = step.tokens() * config_.hidden;
  sums_->sum(step, used, count);
  use(place_.gpu);
  kernels::add(step.residual.data(), step.y.data(), count, lane_.stream());
  if (const float* shared = shared_of(step)) kernels::add(step.residual.data(), shared, count, lane_.stream());
}

// Of each FFN worker, as it wrote it here.
void AttentionWorker::add_sums(CudaStep& step, const std::vector<bool>& used) {
  const std::int64_t words = (options_.ffn_workers + 31) / 32;
  step.used.open(lane_, Parcel::bytes_of<std::uint32_t>(words));
  std::uint32_t* bits = nullptr;
  std::uint32_t* const to = step.used.add<std::uint32_t>(words, bits);
  std::fill_n(to, words, 0u);
  for (std::size_t w = 0; w < used.size(); ++w) to[w / 32] |= static_cast<std::uint32_t>(used[w]) << w % 32;
  step.used.send(lane_);
  kernels::combine_partial(step.y.data(), bits, options_.ffn_workers, shared_of(step), step.count(), config_.hidden,
                           step.residual.data(), lane_.stream());
}

void AttentionWorker::combine(Step& any, const std::vector<bool>& used) {
  CudaStep& step = static_cast<CudaStep&>(any);
  if (step.token_ids.empty()) return;
  use(place_.gpu);
  if (options_.combine == Combine::exact)
    kernels::combine_exact(step.routed().weights, step.y.data(), shared_of(step), step.count(), rule_.top_k,
                           config_.hidden, step.residual.data(), lane_.stream());
  else if (sums_ != nullptr) add_sum(step, used);
  else add_sums(step, used);
  check_launches("combining what experts returned");
}

void AttentionWorker::head(CudaStep& step) {
  const cudaStream_t stream = lane_.stream();
  const std::int32_t samples = step.input.samples, hidden = config_.hidden, vocab = config_.vocab;
  Scratch& s = scratch_;
  kernels::take_rows(step.residual.data(), step.input.sample_rows, samples, hidden, s.last.data(), stream);
  kernels::rms_norm(s.last.data(), weights_.final_norm, config_.rms_eps, samples, hidden, s.last_x.data(), stream);
  kernels::linear(s.last_x.data(), weights_.lm_head, samples, vocab, hidden, s.logits.data(), stream);
  kernels::sample(s.logits.data(), step.input.sample_options, samples, vocab, s.tokens.data(),
                  &step.routed().not_finite[1], stream);
  const auto fetch = [&](void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "fetching sampled tokens");
  };
  fetch(step.tokens_out.data(), s.tokens.data(), static_cast<std::size_t>(samples) * sizeof(std::int32_t));
  fetch(step.told().not_finite, step.routed().not_finite, 2 * sizeof(std::int32_t));
  if (observer_)
    fetch(step.logits_out.data(), s.logits.data(), static_cast<std::size_t>(samples) * vocab * sizeof(float));
}

Ticket AttentionWorker::sample(Step& any) {
  CudaStep& step = static_cast<CudaStep&>(any);
  step.sampled.assign(step.slices.size(), -1);
  if (step.token_ids.empty()) return 0;
  use(place_.gpu);
  dense_layers(step, config_.layers);
  if (step.input.samples > 0) head(step);
  const Ticket ticket = lane_.record();
  if (step.input.samples > 0) told_.push_back({ticket, &step});
  check_launches("sampling");
  return ticket;
}

void AttentionWorker::wait(Ticket ticket) {
  use(place_.gpu);
  if (sums_ == nullptr) {
    lane_.wait(ticket);
  } else {
    // Where a rank fails, a sum under way may never end.
    for (sums_->check(); !lane_.done(ticket); sums_->check()) std::this_thread::yield();
    sums_->check();
  }
  while (!told_.empty() && told_.front().ticket <= ticket) {
    const Told told = told_.front();
    told_.pop_front();
    tell(told);
  }
}

void AttentionWorker::tell(const Told& told) {
  CudaStep& step = *told.step;
  const Routed& read = step.told();
  if (told.layer >= 0) {
    if (read.not_finite[0] != 0) throw not_finite(fmt::format("the gate's logits in layer {}", told.layer));
    std::copy_n(read.counts, step.counts.size(), step.counts.begin());
    return;
  }
  if (read.not_finite[1] != 0) throw not_finite("the logits");
  if (observer_)
    observer_(step, {step.logits_out.data(), static_cast<std::size_t>(step.input.samples) * config_.vocab});
  const std::int32_t* token = step.tokens_out.data();
  for (std::size_t s = 0; s < step.slices.size(); ++s)
    if (step.slices[s].samples) step.sampled[s] = *token++;
}

}  // namespace afore::device::cuda
