#include "placement/on_demand.h"

#include <algorithm>

#include "placement/traits.h"

namespace afore::placement {

std::int64_t OnDemand::bound(const Request& request, const SplitProblem& problem, std::span<const std::int64_t> parts,
                             Decision& decision) {
  const ReplicaTable& replicas = problem.replicas;
  board_.reset(problem.tiles, replicas.workers(), {problem.per_tile, problem.per_expert});
  for (int e = 0; e < replicas.experts(); ++e) {
    if (problem.tiles[e] == 0) continue;
    for (int id = replicas.first(e); id < replicas.first(e + 1); ++id)
      board_.put(board_.add(e, replicas.worker(id)), parts[id]);
  }
  board_.settle();
  slots_.reset(request, board_);
  const CopyRoom& room = slots_.room(limits_.copy_budget);
  copies_ = room.copies;
  static const std::vector<int> kNone;
  const std::int64_t ns = bounds_.time_bound(board_, request.cost, request.workers, room);
  decision.lower_bound_ns = request.cost.c0_ns + ns;
  decision.lower_bound_tiles = bounds_.lower_bound(board_, kTileForm, room, kNone);
  return ns;
}

std::int64_t OnDemand::grow(const Request& request, std::int64_t bound, std::int64_t least_gain, Decision& decision,
                            std::vector<TileShare>& shares) {
  // What Grower's loads are.
  if (copies_ == 0 || board_.max_load() - bound < least_gain || !is_plain(request)) return -1;
  const std::int64_t base = board_.max_load();
  GrowOptions options;
  options.copy_budget = copies_;
  options.gain_rule = limits_.gain_rule;
  options.target = bound;
  options.window_ns = request.window_ns;
  options.copy_ns = request.cost.copy_ns;
  options.pinned = not_for_this_target(request, fixed_);
  grower_.grow(board_, &slots_, options, decision.copies);
  if (decision.copies.empty()) return -1;
  time_.polish(board_, bound);
  board_.settle();
  drop_idle(board_, decision.copies);
  const Nanos migration = migration_ns(decision.copies, request.placement.workers(), request.cost, request.workers);
  const Nanos exposed = limits_.gain_rule ? std::max<Nanos>(0, migration - request.window_ns) : 0;
  if (decision.copies.empty() || base - board_.max_load() - exposed < least_gain) {
    decision.copies.clear();
    return -1;
  }
  shares = board_.assignment();
  return board_.max_load();
}

}  // namespace afore::placement
