#include "core/assignment.h"

#include <algorithm>
#include <bit>
#include <string>

#include "util/error.h"

namespace afore {

void count_tiles(std::span<const std::int64_t> counts, std::int64_t tile_tokens, std::vector<std::int64_t>& tiles) {
  tiles.resize(counts.size());
  // Divisions by the usual tiles are shifts.
  if (const auto divisor = static_cast<std::uint64_t>(tile_tokens); std::has_single_bit(divisor)) {
    const int shift = std::countr_zero(divisor);
    for (std::size_t e = 0; e < counts.size(); ++e) tiles[e] = (counts[e] + tile_tokens - 1) >> shift;
    return;
  }
  for (std::size_t e = 0; e < counts.size(); ++e) tiles[e] = ceil_div(counts[e], tile_tokens);
}

void check_magnitude(const Target& target, std::int64_t tokens, std::span<const std::int64_t> counts, int workers,
                     const LayerCost& cost, std::span<const WorkerTraits> traits) {
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;
  constexpr __int128 kMaxNs = __int128{1} << 62;
  // More than enough for all but absurd targets: a tile and an activated expert for each assignment.
  __int128 assignments = 0;
  for (const std::int64_t count : counts) assignments += count;
  // Slowed loads are computed in thousandths.
  std::int64_t slowest = traits.empty() ? 1 : 1000;
  for (const WorkerTraits& worker : traits) slowest = std::max(slowest, worker.slowdown_permille);
  const __int128 limit_ns = kMaxNs / std::max(workers, 1) / slowest;
  if (tokens <= kMaxTokens && assignments <= limit_ns && cost.c1_ns + cost.c2_ns <= kMaxTokens &&
      cost.c0_ns + assignments * (cost.c1_ns + cost.c2_ns) < limit_ns)
    return;
  __int128 ns = cost.c0_ns;
  for (const std::int64_t count : counts)
    ns += static_cast<__int128>(cost.c1_ns) * ceil_div(count, cost.tile_tokens) + (count > 0 ? cost.c2_ns : 0);
  if (tokens <= kMaxTokens && ns * workers * slowest < kMaxNs) return;
  throw Error(ErrorKind::data,
              "step " + std::to_string(target.step) + " layer " + std::to_string(target.layer) + " microbatch " +
                  std::to_string(target.microbatch) + ": " + std::to_string(tokens) + " tokens are beyond any batch",
              "a microbatch may have up to 2^31 tokens, and times must stay within 64 bits");
}

WorkerLoads worker_loads(std::span<const TileShare> assignment, int workers, const LayerCost& cost,
                         std::span<const WorkerTraits> traits) {
  WorkerLoads loads;
  loads.tiles.assign(workers, 0);
  loads.activated.assign(workers, 0);
  std::int64_t *const tiles = loads.tiles.data(), *const activated = loads.activated.data();
  for (const TileShare& share : assignment) {
    tiles[share.worker] += share.tiles;
    activated[share.worker] += 1;
  }
  for (int w = 0; w < workers; ++w) {
    loads.max_tiles = std::max(loads.max_tiles, loads.tiles[w]);
    loads.max_ns = std::max(loads.max_ns, ffn_ns(cost, traits, w, loads.tiles[w], loads.activated[w]));
  }
  return loads;
}

std::int64_t slowed_volume(std::int64_t work, int workers, std::span<const WorkerTraits> traits) {
  if (traits.empty()) return ceil_div(work, workers);
  // Within T a worker has room for floor(1000 * T / slowdown): the least T at which the room of all suffices.
  const auto fits = [&](std::int64_t load) {
    __int128 room = 0;
    for (const WorkerTraits& worker : traits) room += static_cast<__int128>(load) * 1000 / worker.slowdown_permille;
    return room >= work;
  };
  std::int64_t fails = -1, high = ceil_div(work * traits[0].slowdown_permille, 1000);  // all of it on the first one
  while (high - fails > 1) {
    const std::int64_t middle = fails + (high - fails) / 2;
    (fits(middle) ? high : fails) = middle;
  }
  return high;
}

Nanos volume_bound_ns(std::int64_t tiles, std::int64_t experts, int workers, const LayerCost& cost,
                      std::span<const WorkerTraits> traits) {
  // Under the roofline rule each term by itself is a bound, and so is the larger one.
  return cost.c0_ns + slowed_volume(cost.load_ns(tiles, experts), workers, traits);
}

bool covers_demand(std::span<const TileShare> assignment, std::span<const std::int64_t> counts,
                   std::int64_t tile_tokens, const LayerPlacement& placement) {
  for (std::size_t at = 0; at < assignment.size();) {
    const std::size_t begin = at;
    const int expert = assignment[begin].expert;
    std::int64_t room = 0;
    for (; at < assignment.size() && assignment[at].expert == expert; ++at)
      room += std::min(assignment[at].tiles * tile_tokens, counts[expert]);
    if (room >= counts[expert]) continue;
    const int primary = placement.primary(expert);
    if (std::none_of(assignment.begin() + begin, assignment.begin() + at,
                     [&](const TileShare& share) { return share.worker == primary; }))
      return false;
  }
  return true;
}

std::vector<TokenShare> token_shares(std::span<const TileShare> assignment, std::span<const std::int64_t> counts,
                                     std::int64_t tile_tokens, const LayerPlacement& placement) {
  std::vector<TokenShare> result;
  token_shares(assignment, counts, tile_tokens, placement, result);
  return result;
}

void token_shares(std::span<const TileShare> assignment, std::span<const std::int64_t> counts, std::int64_t tile_tokens,
                  const LayerPlacement& placement, std::vector<TokenShare>& result) {
  result.resize(assignment.size());
  for (std::size_t begin = 0; begin < assignment.size();) {
    const int expert = assignment[begin].expert;
    const int primary = placement.primary(expert);
    std::int64_t left = counts[expert];
    std::size_t end = begin, primary_at = assignment.size();
    for (; end < assignment.size() && assignment[end].expert == expert; ++end) {
      const TileShare& share = assignment[end];
      result[end] = {expert, share.worker, 0};
      if (share.worker == primary) {
        primary_at = end;
      } else {
        result[end].tokens = std::min(share.tiles * tile_tokens, left);
        left -= result[end].tokens;
      }
    }
    if (primary_at < assignment.size()) {
      result[primary_at].tokens = left;
      left = 0;
    }
    AFORE_CHECK(left == 0, "assignment does not cover the demand");
    begin = end;
  }
}

std::vector<TileShare> primary_assignment(std::span<const std::int64_t> tiles, const LayerPlacement& placement) {
  std::vector<TileShare> assignment;
  for (std::size_t e = 0; e < tiles.size(); ++e)
    if (tiles[e] > 0) assignment.push_back({static_cast<int>(e), placement.primary(static_cast<int>(e)), tiles[e]});
  return assignment;
}

}  // namespace afore
