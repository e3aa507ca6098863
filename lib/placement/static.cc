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
    const WorkerLoads loads = worker_loads(decision.assignment, workers, cost, request.workers);
    decision.max_tiles_before = loads.max_tiles;
    decision.ffn_ns_before = loads.max_ns;
    std::int64_t tiles = 0, experts = 0;
    for (const std::int64_t count : tiles_) {
      tiles += count;
      experts += count > 0;
    }
    decision.lower_bound_tiles = ceil_div(tiles, workers);
    decision.lower_bound_ns = volume_bound_ns(tiles, experts, workers, cost, request.workers);
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
