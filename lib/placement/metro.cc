// METRO, minimum expert token routing (arXiv 2512.09277): where reading weights dominates, balance the experts that
// workers activate, not their tokens. Each expert goes whole to one of its replicas: more would read it again. The
// paper's greedy, which it prefers to the exact max-flow for its speed, gives each to the worker with the fewest so
// far. Assumed: the order (fewest replicas first, since those have least choice), and fewer tokens among equal workers.
//
// It makes no replicas itself but runs on EPLB's. Here, once per layer, from its first targets: EPLB's replication
// fills the empty slots, its packing chooses the workers, primaries stay where they are.
#include <algorithm>
#include <numeric>

#include "placement/fixed_replicas.h"

namespace afore::placement {
namespace {

class Metro final : public Rule {
 public:
  void decide(const Request& request, Book& book) override {
    FixedReplicas::Layer& layer = replicas_.see(request);
    if (FixedReplicas::due(layer)) choose(request, layer);
    FixedReplicas::copy(layer, request, book);
    route(request, book);
  }

 private:
  // Load per replica.
  double share(const FixedReplicas::Layer& layer, int expert) const {
    return static_cast<double>(layer.load[expert]) / static_cast<double>(replicas_of_[expert]);
  }

  bool heavier(const FixedReplicas::Layer& layer, int a, int b) const {
    const double share_a = share(layer, a), share_b = share(layer, b);
    return share_a != share_b ? share_a > share_b : replicas_of_[a] < replicas_of_[b];
  }

  void choose(const Request& request, FixedReplicas::Layer& layer) {
    const LayerPlacement& placement = request.placement;
    room_.resize(placement.workers());
    for (int w = 0; w < placement.workers(); ++w) room_[w] = FixedReplicas::empty_slots(request, placement, w);
    replicas_of_.resize(placement.experts());
    for (int e = 0; e < placement.experts(); ++e) replicas_of_[e] = static_cast<int>(placement.holders(e).size());
    const int slots = std::accumulate(room_.begin(), room_.end(), 0);
    order_.clear();
    for (int i = 0; i < slots; ++i) {
      int heaviest = -1;
      for (int e = 0; e < placement.experts(); ++e)
        if (replicas_of_[e] < placement.workers() && (heaviest < 0 || heavier(layer, e, heaviest))) heaviest = e;
      if (heaviest < 0) break;
      replicas_of_[heaviest] += 1;
      order_.push_back(heaviest);
    }
    pack(placement, layer);
  }

  // Heaviest replica to the lightest worker with room that lacks the expert; one that fits nowhere is dropped.
  void pack(const LayerPlacement& placement, FixedReplicas::Layer& layer) {
    LayerPlacement packed = placement;
    weight_.assign(placement.workers(), 0);
    for (int e = 0; e < placement.experts(); ++e)
      for (const int w : placement.holders(e)) weight_[w] += share(layer, e);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return share(layer, a) > share(layer, b); });
    for (const int e : order_) {
      int best = -1;
      for (int w = 0; w < packed.workers(); ++w)
        if (room_[w] > 0 && !packed.holds(e, w) && (best < 0 || weight_[w] < weight_[best])) best = w;
      if (best < 0) continue;
      packed.set(best, packed.slot_of(kNoExpert, best), e);
      layer.replicas.push_back({e, best});
      weight_[best] += share(layer, e);
      room_[best] -= 1;
    }
  }

  // Over what stood before this target's copies, so that none has to wait for them.
  void route(const Request& request, Book& book) {
    const LayerPlacement& placement = request.placement;
    activated_.assign(book.workers(), 0);
    tokens_.assign(book.workers(), 0);
    order_.clear();
    for (int e = 0; e < book.experts(); ++e)
      if (book.count(e) > 0) order_.push_back(e);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int a, int b) { return placement.holders(a).size() < placement.holders(b).size(); });
    for (const int e : order_) {
      const std::span<const int> holders = placement.holders(e);
      const int best = *std::min_element(holders.begin(), holders.end(), [&](int a, int b) {
        return activated_[a] != activated_[b] ? activated_[a] < activated_[b] : tokens_[a] < tokens_[b];
      });
      book.give(e, best, book.count(e));
      activated_[best] += 1;
      tokens_[best] += book.count(e);
    }
  }

  FixedReplicas replicas_;
  std::vector<int> room_, replicas_of_, order_, activated_;
  std::vector<double> weight_;
  std::vector<std::int64_t> tokens_;
};

}  // namespace

std::unique_ptr<Policy> make_metro(const Limits& limits) { return rival(std::make_unique<Metro>(), limits); }

}  // namespace afore::placement
