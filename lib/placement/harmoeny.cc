// HarMoEny (arXiv 2506.12417, algorithm 2 and section 4.4): as long as some worker has more than the mean load, the
// most loaded one sends tokens of its largest expert to the least loaded one, as many as that one takes without passing
// the mean, which gets the expert's weights with them. It ends where fewer than q tokens would move; q is the least
// number of tokens that take longer to compute than an expert takes to load: q > phi d_type / (2 beta) for a two-matrix
// expert and, by the same inequality, for a gated one.
// The paper counts tokens by the device they come from and moves the largest source's first; FFN workers have no tokens
// of their own, so an expert's tokens are one source here. It can load any expert anywhere, while here the least loaded
// worker is sought among those that hold the expert or have a safe slot (assumed).
#include <algorithm>
#include <limits>

#include "placement/rivals.h"

namespace afore::placement {
namespace {

// The inequality in this machine's costs: q tokens fill q / tile_tokens tiles of c1 each.
std::int64_t tokens_worth_a_load(const LayerCost& cost) {
  if (cost.c1_ns == 0) return std::numeric_limits<std::int64_t>::max();
  return cost.copy_ns * cost.tile_tokens / cost.c1_ns + 1;
}

class Harmoeny final : public Rule {
 public:
  void decide(const Request& request, Book& book) override {
    left_.assign(request.counts.begin(), request.counts.end());
    const std::int64_t total = book.primary_loads(load_);
    const std::int64_t mean = total / book.workers(), threshold = tokens_worth_a_load(request.cost);
    while (move(book, mean, threshold)) {
    }
    for (int e = 0; e < book.experts(); ++e)
      if (left_[e] > 0) book.give(e, book.primary(e), left_[e]);
  }

 private:
  // False when nothing is left to do. Receivers never pass the mean, so that the most loaded worker has only tokens of
  // its own primaries.
  bool move(Book& book, std::int64_t mean, std::int64_t threshold) {
    const int from = static_cast<int>(std::max_element(load_.begin(), load_.end()) - load_.begin());
    if (load_[from] <= mean) return false;
    int expert = -1;
    for (int e = 0; e < book.experts(); ++e)
      if (left_[e] > 0 && book.primary(e) == from && (expert < 0 || left_[e] > left_[expert])) expert = e;
    if (left_[expert] < threshold) return false;
    const int to = book.least_loaded(expert, from, load_);
    if (to < 0 || mean - load_[to] < threshold) return false;
    const std::int64_t tokens = std::min(left_[expert], mean - load_[to]);
    if (!book.give(expert, to, tokens)) return false;
    left_[expert] -= tokens;
    load_[from] -= tokens;
    load_[to] += tokens;
    return true;
  }

  std::vector<std::int64_t> load_, left_;
};

}  // namespace

std::unique_ptr<Policy> make_harmoeny(const Limits& limits) { return rival(std::make_unique<Harmoeny>(), limits); }

}  // namespace afore::placement
