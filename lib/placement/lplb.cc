// LPLB, DeepSeek's linear-programming load balancer (github.com/deepseek-ai/LPLB): a fixed graph of redundancy, in
// which a redundant expert is an edge from its primary's worker to the worker of its replica. Per target, flows f along
// the edges, 0 <= f <= tokens of the replicated expert, that minimise the largest number of tokens on a worker.
//
// That linear program is a transportation problem with integral data. The exact splitter for tiles, run on tokens, ends
// at the least T in whole tokens: the program's optimum rounded up, so nothing is lost by rounding. The program has
// many optima; an interior point lies amid them and splits every expert it can. Ours has few parts, which favours it
// here, where each part costs a reading of weights.
//
// The graph: for 8 workers the published example, for its two slots. Otherwise slot k of worker w has its original on
// worker w - j_k (mod N), jumps j = 1, N/2, N/4, ..., then 2, 3, ... The k-th edge out of a worker carries its k-th
// heaviest expert, chosen once per layer from its first targets; there EPLB's ordering does this, from statistics.
#include <algorithm>
#include <array>
#include <numeric>

#include "placement/fixed_replicas.h"
#include "placement/split_tiles.h"

namespace afore::placement {
namespace {

// Its "r2o" for a group of 8 with 2 redundant experts each: the worker of the original, by slot and worker.
constexpr std::array<std::array<int, 8>, 2> kEightWorkers = {{{3, 0, 1, 2, 7, 4, 5, 6}, {6, 7, 4, 5, 0, 1, 2, 3}}};

// Distances of a ring with chords, one per slot and each once; fewer than slots where there are no more.
std::vector<int> make_jumps(int workers, int slots) {
  std::vector<int> jumps;
  const auto add = [&](int jump) {
    if (std::ssize(jumps) < slots && jump < workers && std::find(jumps.begin(), jumps.end(), jump) == jumps.end())
      jumps.push_back(jump);
  };
  add(1);
  for (int jump = workers / 2; jump > 1; jump /= 2) add(jump);
  for (int jump = 2; jump < workers && std::ssize(jumps) < slots; ++jump) add(jump);
  return jumps;
}

class Lplb final : public Rule {
 public:
  void decide(const Request& request, Book& book) override {
    const std::int64_t total = std::accumulate(request.counts.begin(), request.counts.end(), std::int64_t{0});
    FixedReplicas::Layer& layer = replicas_.see(request);
    if (FixedReplicas::due(layer)) choose(request, book, layer);
    FixedReplicas::copy(layer, request, book);
    // Over what stood before this target's copies, so that none has to wait for them.
    board_.reset(request.counts, book.workers(), LoadForm{1, 0});
    board_.add_standing(request.placement);
    splitter_.split(board_, ceil_div(total, book.workers()));
    for (const TileShare& share : board_.assignment()) book.give(share.expert, share.worker, share.tiles);
  }

 private:
  void choose(const Request& request, const Book& book, FixedReplicas::Layer& layer) {
    const int workers = book.workers();
    experts_of_.assign(workers, {});
    for (int e = 0; e < book.experts(); ++e) experts_of_[book.primary(e)].push_back(e);
    for (std::vector<int>& experts : experts_of_)
      std::stable_sort(experts.begin(), experts.end(), [&](int a, int b) { return layer.load[a] > layer.load[b]; });
    const std::vector<int> jumps = make_jumps(workers, request.placement.slots_per_worker());
    const int columns = static_cast<int>(jumps.size());
    for (int w = 0; w < workers; ++w) {
      const int empty = FixedReplicas::empty_slots(request, request.placement, w);
      for (int k = 0; k < std::min(empty, columns); ++k) {
        const bool published = workers == 8 && k < std::ssize(kEightWorkers);
        const std::vector<int>& experts =
            experts_of_[published ? kEightWorkers[k][w] : (w + workers - jumps[k]) % workers];
        if (!experts.empty()) layer.replicas.push_back({experts[k % experts.size()], w});
      }
    }
  }

  FixedReplicas replicas_;
  Board board_;
  TileSplitter splitter_;
  std::vector<std::vector<int>> experts_of_;
};

}  // namespace

std::unique_ptr<Policy> make_lplb(const Limits& limits) { return rival(std::make_unique<Lplb>(), limits); }

}  // namespace afore::placement
