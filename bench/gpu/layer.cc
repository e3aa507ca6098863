#include "bench/gpu/layer.h"

#include "bench/gpu/experts.h"
#include "bench/gpu/probe_kernels.h"
#include "kernels/expert_rows.h"
#include "kernels/gate.h"
#include "kernels/vectors.h"

namespace afore::bench::gpu {
namespace {

using namespace kernels;

std::size_t qkv_width(const Sizes& sizes) {
  return area(sizes.attention.heads + 2 * sizes.attention.kv_heads, sizes.attention.head_dim);
}
std::size_t heads_width(const Sizes& sizes) { return area(sizes.attention.heads, sizes.attention.head_dim); }

// bf16 numbers of a size that keeps rows at theirs.
struct Weights : Buffer<std::uint16_t> {
  Weights(std::size_t rows, std::size_t columns) : Buffer(rows * columns) {
    fill_bf16(data(), size(), 2 / std::sqrt(static_cast<float>(columns)), stream());
  }
};

std::vector<std::int32_t> counted(std::int32_t count, std::int32_t step) {
  std::vector<std::int32_t> values;
  for (std::int32_t i = 0; i < count; ++i) values.push_back(i * step);
  return values;
}

}  // namespace

struct Layer::Memory {
  Memory(const Sizes& sizes, std::int32_t tokens, std::int32_t positions)
      : hidden(static_cast<std::size_t>(sizes.hidden)),
        all(static_cast<std::size_t>(tokens)),
        pairs(all * static_cast<std::size_t>(sizes.top_k)),
        pages_each((positions + kPageTokens - 1) / kPageTokens),
        residual(Numbers(61).floats(all * hidden)),
        norm(std::vector<float>(hidden, 1)),
        cos_sin(std::vector<float>(area(positions, sizes.attention.rotary_dim), 0.7f)),
        y(all * hidden),
        qkv_weights(qkv_width(sizes), hidden),
        out_weights(hidden, heads_width(sizes)),
        gate_weights(static_cast<std::size_t>(sizes.experts), hidden),
        expert_weights(static_cast<std::size_t>(sizes.experts),
                       static_cast<std::size_t>(slot_bytes(sizes.hidden, sizes.intermediate) / 2)),
        cache(area(tokens * pages_each, page_elements(sizes.attention)), 1),
        qkv(all * qkv_width(sizes)),
        q(all * heads_width(sizes)),
        scratch(static_cast<std::size_t>(attend_scratch_floats(sizes.attention, tokens, positions))),
        attended(all * heads_width(sizes)),
        delta(all * hidden),
        logits(area(tokens, sizes.experts)),
        slice(counted(tokens, 1)),
        position(std::vector<std::int32_t>(all, positions - 1)),
        pages(counted(tokens * pages_each, 1)),
        pages_begin(counted(tokens, pages_each)),
        ids(pairs),
        counts(static_cast<std::size_t>(sizes.experts)),
        begin(static_cast<std::size_t>(sizes.experts) + 1),
        sorted(pairs),
        row_of_pair(pairs),
        not_finite(std::vector<std::int32_t>{0}),
        weights(pairs),
        partial(all * hidden),
        used(std::vector<std::uint32_t>{1}),
        xs(pairs * hidden),
        h(pairs * static_cast<std::size_t>(sizes.intermediate)),
        rows_out(pairs * hidden),
        parts(std::vector<Part>{{y.data(), counts.data(), begin.data(), sorted.data(), weights.data(),
                                 row_of_pair.data(), partial.data(), tokens}}),
        rows(pairs),
        tiles(pairs),
        shares(static_cast<std::size_t>(sizes.experts)),
        work(std::vector<WorkCounts>{{sizes.experts, 0, 0}}) {
    finish("filling a layer");
  }

  std::size_t hidden, all, pairs;
  std::int32_t pages_each;
  Buffer<float> residual, norm, cos_sin;
  Buffer<std::uint16_t> y;
  Weights qkv_weights, out_weights, gate_weights, expert_weights, cache;
  Buffer<float> qkv, q, scratch;
  Buffer<std::uint16_t> attended;
  Buffer<float> delta, logits;
  Buffer<std::int32_t> slice, position, pages, pages_begin, ids, counts, begin, sorted, row_of_pair, not_finite;
  Buffer<float> weights, partial;
  Buffer<std::uint32_t> used;
  Buffer<std::uint16_t> xs, h;
  Buffer<float> rows_out;
  Buffer<Part> parts;
  Buffer<Row> rows;
  Buffer<Tile> tiles;
  Buffer<Share> shares;
  Buffer<WorkCounts> work;
};

// The plan is made once, of what the gate says first: every expert whole, here.
Layer::Layer(const Sizes& sizes, std::int32_t tokens, std::int32_t positions)
    : sizes_(sizes), tokens_(tokens), positions_(positions), m_(std::make_unique<Memory>(sizes, tokens, positions)) {
  check(prepare_expert_ffn(), "preparing the expert FFN");
  attention();
  gate_and_sort();
  const std::vector<std::int32_t> counts = m_->counts.values();
  std::vector<Share> shares;
  for (std::int32_t e = 0; e < sizes.experts; ++e) shares.push_back({e, 0, counts[static_cast<std::size_t>(e)], e});
  upload(m_->shares.data(), shares.data(), shares.size() * sizeof(Share));
}
Layer::~Layer() = default;

void Layer::attention() {
  const std::int32_t hidden = sizes_.hidden, width = static_cast<std::int32_t>(heads_width(sizes_));
  const TokenPlaces places{m_->slice.data(), m_->position.data(), m_->pages.data(), m_->pages_begin.data()};
  rms_norm(m_->residual.data(), m_->norm.data(), 1e-5f, tokens_, hidden, m_->y.data(), stream());
  linear(m_->y.data(), m_->qkv_weights.data(), tokens_, static_cast<std::int32_t>(qkv_width(sizes_)), hidden,
         m_->qkv.data(), stream());
  store_qkv(sizes_.attention, {nullptr, m_->norm.data(), m_->norm.data(), 1e-5f}, m_->qkv.data(), places, tokens_,
            m_->cos_sin.data(), m_->q.data(), m_->cache.data(), stream());
  attend_decode(sizes_.attention, m_->q.data(), m_->cache.data(), places, m_->slice.data(), tokens_, positions_,
                m_->scratch.data(), m_->attended.data(), stream());
  linear(m_->attended.data(), m_->out_weights.data(), tokens_, hidden, width, m_->delta.data(), stream());
  add_rms_norm(m_->residual.data(), m_->delta.data(), m_->norm.data(), 1e-5f, tokens_, hidden, m_->y.data(), stream());
}

void Layer::gate_and_sort() {
  const GateRule rule{.sigmoid = true, .experts = sizes_.experts, .top_k = sizes_.top_k};
  const std::int32_t pairs = static_cast<std::int32_t>(m_->pairs);
  linear(m_->y.data(), m_->gate_weights.data(), tokens_, sizes_.experts, sizes_.hidden, m_->logits.data(), stream());
  gate(rule, m_->logits.data(), nullptr, tokens_, m_->ids.data(), m_->weights.data(), m_->not_finite.data(), stream());
  demand_histogram(m_->ids.data(), pairs, sizes_.experts, m_->counts.data(), stream());
  sort_pairs(m_->ids.data(), pairs, sizes_.experts, m_->counts.data(), m_->begin.data(), m_->sorted.data(), stream());
}

void Layer::experts() {
  const std::int32_t pairs = static_cast<std::int32_t>(m_->pairs), hidden = sizes_.hidden;
  const WorkBounds bounds{1, sizes_.experts, pairs, pairs, tokens_, sizes_.top_k};
  const ExpertArena arena{reinterpret_cast<const std::byte*>(m_->expert_weights.data()),
                          slot_bytes(hidden, sizes_.intermediate), hidden, sizes_.intermediate};
  list_work(m_->parts.data(), m_->shares.data(), m_->work.data(), bounds, tile_tokens_, m_->rows.data(),
            m_->tiles.data(), stream());
  gather_rows(m_->parts.data(), m_->rows.data(), m_->work.data(), bounds, hidden, m_->xs.data(), stream());
  expert_gate_up(arena, m_->xs.data(), m_->tiles.data(), m_->work.data(), bounds.tiles, tile_tokens_, m_->h.data(),
                 stream());
  expert_down(arena, m_->h.data(), m_->tiles.data(), m_->work.data(), bounds.tiles, tile_tokens_, m_->rows_out.data(),
              stream());
  sum_rows(m_->parts.data(), bounds, hidden, m_->rows_out.data(), stream());
  combine_partial(m_->partial.data(), m_->used.data(), 1, nullptr, tokens_, hidden, m_->residual.data(), stream());
}

void Layer::enqueue() {
  attention();
  gate_and_sort();
  experts();
}

}  // namespace afore::bench::gpu
