#pragma once
// Splitting a target's tokens over the workers that hold its experts.
#include <cstdint>
#include <span>
#include <vector>

#include "core/cost_model.h"
#include "core/ids.h"
#include "core/placement.h"

namespace afore {

// `tiles` > 0 tiles of `expert` run on `worker`. A list is sorted by (expert, worker), each pair once.
struct TileShare {
  int expert = 0;
  int worker = 0;
  std::int64_t tiles = 0;
  bool operator==(const TileShare&) const = default;
};

struct ReplicaAt {
  int expert = 0;
  int worker = 0;
  auto operator<=>(const ReplicaAt&) const = default;
};

struct TokenShare {
  int expert = 0;
  int worker = 0;
  std::int64_t tokens = 0;
  bool operator==(const TokenShare&) const = default;
};

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// n_e = ceil(d_e / tile_tokens) (AFORE Eq. 4; whole-tile splits cost nothing: docs/metrics.md "alignment").
void count_tiles(std::span<const std::int64_t> counts, std::int64_t tile_tokens, std::vector<std::int64_t>& tiles);

// Error{data} for a target so large that times or bytes computed from it could leave 64 bits.
void check_magnitude(const Target& target, std::int64_t tokens, std::span<const std::int64_t> counts, int workers,
                     const LayerCost& cost, std::span<const WorkerTraits> traits = {});

// What each worker gets: index = worker.
struct WorkerLoads {
  std::vector<std::int64_t> tiles;
  std::vector<std::int64_t> activated;  // experts with work there
  std::int64_t max_tiles = 0;
  Nanos max_ns = 0;  // max over workers of ffn_ns(cost, traits, worker, tiles, activated)
};
WorkerLoads worker_loads(std::span<const TileShare> assignment, int workers, const LayerCost& cost,
                         std::span<const WorkerTraits> traits = {});

// The least largest load that leaves room for `work` ns of unslowed load over all workers.
std::int64_t slowed_volume(std::int64_t work, int workers, std::span<const WorkerTraits> traits);
// The volume bound: no split of so many tiles of so many experts over the workers takes less.
Nanos volume_bound_ns(std::int64_t tiles, std::int64_t experts, int workers, const LayerCost& cost,
                      std::span<const WorkerTraits> traits = {});

// Tokens by the rule of docs/records.md: redundant workers in rank order take min(tiles*tile_tokens, what remains),
// the primary the rest. Result sorted like the assignment; pairs that end with 0 tokens are kept with 0.
std::vector<TokenShare> token_shares(std::span<const TileShare> assignment, std::span<const std::int64_t> counts,
                                     std::int64_t tile_tokens, const LayerPlacement& placement);
// The same into `result`, whose capacity is kept.
void token_shares(std::span<const TileShare> assignment, std::span<const std::int64_t> counts, std::int64_t tile_tokens,
                  const LayerPlacement& placement, std::vector<TokenShare>& result);

// Whether the tokens of every expert in the assignment find room by that rule, so that token_shares() can be called.
bool covers_demand(std::span<const TileShare> assignment, std::span<const std::int64_t> counts,
                   std::int64_t tile_tokens, const LayerPlacement& placement);

// Everything on the primaries.
std::vector<TileShare> primary_assignment(std::span<const std::int64_t> tiles, const LayerPlacement& placement);

}  // namespace afore
