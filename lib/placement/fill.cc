// How much needs no migration at all: every slot is filled once, from the demand of a layer's first targets, and from
// then on each target is only split exactly over the replicas that stand.
//
// The fill is EPLB's idea, one copy after another: the expert with the most load per replica goes to the worker with
// the least load that lacks it and has an empty slot, where load is what the targets so far would be if every expert
// were spread evenly over its replicas.
#include <algorithm>
#include <map>

#include "placement/frame.h"

namespace afore::placement {
namespace {

// Targets of a layer before its fill begins. A few, so that the fill is not one microbatch's accident; and so few that
// a warm-up covers them.
constexpr std::int64_t kTargetsSeen = 8;

class SplitPolicy final : public Policy {
 public:
  explicit SplitPolicy(const Limits& limits) : limits_(limits), frame_(limits) {}

  void plan(const Request& request, Decision& decision) override {
    decision.clear();
    frame_.stand(request, decision);
    Layer& layer = layers_[request.target.layer];
    layer.load.resize(request.counts.size(), 0);
    for (std::size_t e = 0; e < layer.load.size(); ++e) layer.load[e] += static_cast<double>(request.counts[e]);
    if (++layer.targets > kTargetsSeen && !layer.full) fill(request, layer, decision.copies);
    if (!decision.copies.empty()) {
      LayerPlacement after = request.placement;
      for (const Copy& copy : decision.copies) after.set(copy.to, copy.slot, copy.expert);
      frame_.split(after, request);
    }
    decision.assignment = frame_.board().assignment();
    frame_.certify(request, decision);
  }

 private:
  struct Layer {
    std::vector<double> load;  // tokens so far, by expert
    std::int64_t targets = 0;
    bool full = false;
  };

  void fill(const Request& request, Layer& layer, std::vector<Copy>& copies) {
    LayerPlacement after = request.placement;
    while (static_cast<std::int64_t>(copies.size()) < limits_.copy_budget) {
      const Copy copy = next(request, after, layer.load);
      if (copy.to < 0) {
        layer.full = true;
        return;
      }
      after.set(copy.to, copy.slot, copy.expert);
      copies.push_back(copy);
    }
  }

  // Empty slots of a lost worker are busy for ever.
  static int empty_slot(const Request& request, const LayerPlacement& placement, int worker) {
    if (drains(request.workers, worker)) return kNoSlot;
    for (int slot = 0; slot < placement.slots_per_worker(); ++slot)
      if (placement.expert_at(worker, slot) == kNoExpert && !request.is_busy(worker, slot)) return slot;
    return kNoSlot;
  }

  Copy next(const Request& request, const LayerPlacement& placement, const std::vector<double>& load) {
    worker_load_.assign(placement.workers(), 0);
    order_.clear();
    for (int e = 0; e < placement.experts(); ++e) {
      const auto holders = placement.holders(e);
      const double share = load[e] / static_cast<double>(holders.size());
      for (const int w : holders) worker_load_[w] += share;
      if (!request.is_pinned(e)) order_.emplace_back(-share, e);
    }
    std::sort(order_.begin(), order_.end());
    for (const auto& [share, expert] : order_) {
      int best = -1;
      for (int w = 0; w < placement.workers(); ++w)
        if ((best < 0 || worker_load_[w] < worker_load_[best]) && !placement.holds(expert, w) &&
            empty_slot(request, placement, w) != kNoSlot)
          best = w;
      if (best >= 0) return {expert, placement.primary(expert), best, empty_slot(request, placement, best)};
    }
    return {kNoExpert, -1, -1, kNoSlot};
  }

  Limits limits_;
  Frame frame_;
  std::map<int, Layer> layers_;
  std::vector<double> worker_load_;
  std::vector<std::pair<double, int>> order_;
};

}  // namespace

std::unique_ptr<Policy> make_split(const Limits& limits) { return std::make_unique<SplitPolicy>(limits); }

}  // namespace afore::placement
