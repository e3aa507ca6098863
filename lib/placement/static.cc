// Everything on the primaries, never a copy.
#include "placement/bounds.h"
#include "placement/policy.h"
#include "util/error.h"

namespace afore::placement {
namespace {

class StaticPolicy final : public Policy {
 public:
  explicit StaticPolicy(const Limits& limits) : limits_(limits) {}

  void plan(const Request& request, Decision& decision) override {
    const LayerCost& cost = request.cost;
    const int workers = request.placement.workers();
    count_tiles(request.counts, cost.tile_tokens, tiles_);
    for (int expert = 0; expert < request.placement.experts(); ++expert)
      AFORE_CHECK(tiles_[expert] == 0 || request.placement.primary(expert) >= 0,
                  "an expert with demand has no complete replica");
    decision.clear();
    decision.assignment = primary_assignment(tiles_, request.placement);
    const WorkerLoads loads = worker_loads(decision.assignment, workers, cost);
    decision.max_tiles_before = loads.max_tiles;
    decision.ffn_ns_before = loads.max_ns;
    std::int64_t volume_tiles = 0, volume_ns = 0;
    for (const std::int64_t tiles : tiles_) {
      volume_tiles += tiles;
      volume_ns += LoadForm{cost.c1_ns, cost.c2_ns}.whole(tiles);
    }
    decision.lower_bound_tiles = ceil_div(volume_tiles, workers);
    decision.lower_bound_ns = cost.c0_ns + ceil_div(volume_ns, workers);
    decision.certified = limits_.objective == Objective::tiles ? loads.max_tiles == decision.lower_bound_tiles
                                                               : loads.max_ns == decision.lower_bound_ns;
  }

 private:
  Limits limits_;
  std::vector<std::int64_t> tiles_;
};

}  // namespace

std::unique_ptr<Policy> make_static(const Limits& limits) { return std::make_unique<StaticPolicy>(limits); }

}  // namespace afore::placement
