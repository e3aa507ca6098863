#include "demand/project.h"

namespace afore::demand {

std::vector<TileShare> project_shares(std::span<const TileShare> guess, std::span<const std::int64_t> true_tiles,
                                      const LayerPlacement& placement, std::span<const WorkerTraits> traits) {
  std::vector<TileShare> result;
  std::size_t begin = 0;
  for (int expert = 0; expert < static_cast<int>(true_tiles.size()); ++expert) {
    std::size_t end = begin;
    std::int64_t guessed = 0;
    for (; end < guess.size() && guess[end].expert == expert; ++end) guessed += guess[end].tiles;
    const std::int64_t tiles = true_tiles[expert];
    if (tiles > 0 && guessed == 0) result.push_back({expert, stand_in(placement, expert, traits), tiles});
    std::int64_t seen = 0, given = 0;
    for (std::size_t i = begin; i < end; ++i) {
      seen += guess[i].tiles;
      const std::int64_t upto = (2 * tiles * seen + guessed) / (2 * guessed);
      if (upto > given) result.push_back({expert, guess[i].worker, upto - given});
      given = upto;
    }
    begin = end;
  }
  return result;
}

}  // namespace afore::demand
