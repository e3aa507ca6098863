#include "pipeline/yardstick.h"

namespace afore::pipeline {

Yardstick::Yardstick(const ClusterSpec& cluster, const LayerCost& cost, Objective objective)
    : cluster_(cluster), cost_(cost) {
  placement::Limits limits;
  limits.objective = objective;
  ideal_ = placement::make_ideal(limits);
}

YardTimes Yardstick::measure(const Demand& demand) {
  const int experts = static_cast<int>(demand.counts.size());
  const int workers = static_cast<int>(cluster_.ffn_workers);
  if (!placement_ || placement_->experts() != experts) {
    placement_ = std::make_unique<LayerPlacement>(LayerPlacement::initial(experts, workers, 0));
    busy_.assign(placement_->index_count(), 0);
    last_used_.assign(placement_->index_count(), -1);
  }
  check_magnitude(demand.target, demand.tokens, demand.counts, workers, cost_, cluster_.workers);
  YardTimes times;
  if (demand.phase == Phase::warmup) return times;  // never counted
  count_tiles(demand.counts, cluster_.tile_tokens, tiles_);
  const WorkerLoads fixed = worker_loads(primary_assignment(tiles_, *placement_), workers, cost_, cluster_.workers);
  times.static_ns = fixed.max_ns;
  times.static_tiles = fixed.max_tiles;
  const placement::Decision ideal =
      ideal_->decide({demand.target, demand.counts, *placement_, busy_, last_used_, cost_, 0, {}, cluster_.workers});
  const WorkerLoads free = worker_loads(ideal.assignment, workers, cost_, cluster_.workers);
  times.ideal_ns = free.max_ns;
  times.ideal_tiles = free.max_tiles;
  return times;
}

}  // namespace afore::pipeline
