#pragma once
// Attention workers' steps and the shares of an FFN worker.
#include <memory>
#include <numeric>
#include <vector>

#include "kernels/expert_rows.h"
#include "kernels/gate.h"
#include "memory.h"

namespace afore::kernels {

inline bool operator==(const Row& a, const Row& b) { return a.part == b.part && a.pair == b.pair; }
inline bool operator==(const Tile& a, const Tile& b) { return a.slot == b.slot && a.row == b.row && a.rows == b.rows; }
inline bool operator==(const WorkCounts& a, const WorkCounts& b) {
  return a.shares == b.shares && a.rows == b.rows && a.tiles == b.tiles;
}

struct WorkSceneSizes {
  std::vector<std::int32_t> tokens;  // by part
  std::int32_t experts = 1, top_k = 1, hidden = 8;
};

// What one attention worker has, and what an FFN worker writes for it.
struct PartMemory {
  Memory<std::uint16_t> x;
  Memory<std::int32_t> ids, counts, begin, sorted;
  Memory<float> weights;
  Memory<std::int32_t> row_of_pair;
  Memory<float> out_of_pairs, out_of_tokens;

  PartMemory(const WorkSceneSizes& sizes, std::size_t tokens, std::size_t pairs, Numbers& numbers)
      : x(numbers.bf16s(tokens * static_cast<std::size_t>(sizes.hidden))),
        ids(pairs),
        counts(static_cast<std::size_t>(sizes.experts)),
        begin(static_cast<std::size_t>(sizes.experts) + 1),
        sorted(pairs),
        weights(numbers.floats(pairs)),
        row_of_pair(pairs, 12345),
        out_of_pairs(pairs * static_cast<std::size_t>(sizes.hidden), kNaN),
        out_of_tokens(tokens * static_cast<std::size_t>(sizes.hidden), kNaN) {
    std::vector<std::int32_t> shuffled(static_cast<std::size_t>(sizes.experts));
    std::iota(shuffled.begin(), shuffled.end(), 0);
    const auto top_k = static_cast<std::size_t>(sizes.top_k);
    for (std::size_t i = 0; i < pairs; ++i) {  // each token's are different
      const std::size_t k = i % top_k;
      std::swap(shuffled[k],
                shuffled[k + static_cast<std::size_t>(numbers.below(sizes.experts - static_cast<int>(k)))]);
      ids[i] = shuffled[k];
    }
    const auto num_pairs = static_cast<std::int32_t>(pairs);
    twin::demand_histogram(ids.data(), num_pairs, sizes.experts, counts.data());
    twin::sort_pairs(ids.data(), num_pairs, sizes.experts, counts.data(), begin.data(), sorted.data());
  }
};

struct WorkScene {
  WorkSceneSizes sizes;
  std::vector<std::unique_ptr<PartMemory>> memory;
  std::vector<Part> parts;
  std::vector<Share> shares;
  WorkBounds bounds;

  WorkScene(WorkSceneSizes of, std::uint64_t seed) : sizes(std::move(of)) {
    Numbers numbers(seed);
    bounds = {.parts = static_cast<std::int32_t>(sizes.tokens.size()), .top_k = sizes.top_k};
    for (const std::int32_t tokens : sizes.tokens) {
      memory.push_back(std::make_unique<PartMemory>(sizes, static_cast<std::size_t>(tokens),
                                                    static_cast<std::size_t>(tokens * sizes.top_k), numbers));
      const PartMemory& part = *memory.back();
      parts.push_back({part.x.data(), part.counts.data(), part.begin.data(), part.sorted.data(), part.weights.data(),
                       memory.back()->row_of_pair.data(), nullptr, tokens});
      bounds.part_tokens = std::max(bounds.part_tokens, tokens);
    }
  }

  std::int32_t demand(std::int32_t expert) const {
    std::int32_t sum = 0;
    for (const auto& part : memory) sum += part->counts[static_cast<std::size_t>(expert)];
    return sum;
  }
  void add_share(std::int32_t expert, std::int32_t first, std::int32_t tokens) {
    shares.push_back({expert, first, tokens, static_cast<std::int32_t>(shares.size()) * 3 + 1});
  }
  // Of every `every`th expert all, and of the others what is between a third and two thirds.
  void share_experts(std::int32_t every) {
    for (std::int32_t e = 0; e < sizes.experts; ++e)
      if (e % every == 0) add_share(e, 0, demand(e));
      else add_share(e, demand(e) / 3, demand(e) * 2 / 3 - demand(e) / 3);
  }
  void set_bounds(std::int32_t tile_tokens) {
    bounds.shares = static_cast<std::int32_t>(shares.size());
    bounds.rows = bounds.tiles = 0;
    for (const Share& share : shares) {
      bounds.rows += share.tokens;
      bounds.tiles += (share.tokens + tile_tokens - 1) / tile_tokens;
    }
  }
};

// What list_work writes. Places that it leaves keep what they had.
struct Work {
  Memory<WorkCounts> counts{1};
  Memory<Row> rows;
  Memory<Tile> tiles;

  explicit Work(const WorkScene& scene)
      : rows(static_cast<std::size_t>(scene.bounds.rows), Row{-5, -5}),
        tiles(static_cast<std::size_t>(scene.bounds.tiles), Tile{-5, -5, -5}) {
    counts[0] = {static_cast<std::int32_t>(scene.shares.size()), -5, -5};
  }
};

}  // namespace afore::kernels
