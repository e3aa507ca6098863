#include "placement/on_demand.h"

#include <algorithm>

namespace afore::placement {
namespace {

constexpr LoadForm kTileForm{1, 0};

bool alike(std::span<const WorkerTraits> workers) {
  return std::all_of(workers.begin(), workers.end(),
                     [](const WorkerTraits& traits) { return traits.slowdown_permille == 1000; });
}

// The fastest worker's costs, rounded down: no worker is below them.
LoadForm least_form(const Request& request) {
  std::int64_t permille = 1000;
  if (!request.workers.empty()) {
    permille = request.workers[0].slowdown_permille;
    for (const WorkerTraits& traits : request.workers) permille = std::min(permille, traits.slowdown_permille);
  }
  return {request.cost.c1_ns * permille / 1000, request.cost.c2_ns * permille / 1000};
}

}  // namespace

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
  const LoadForm least = least_form(request);
  std::int64_t ns = 0;
  if (request.cost.rule == LoadRule::additive) {
    ns = bounds_.lower_bound(board_, least, room, kNone);
  } else {
    ns = std::max(bounds_.lower_bound(board_, {least.per_tile, 0}, room, kNone),
                  bounds_.lower_bound(board_, {0, least.per_expert}, room, kNone));
  }
  decision.lower_bound_ns = request.cost.c0_ns + ns;
  decision.lower_bound_tiles = bounds_.lower_bound(board_, kTileForm, room, kNone);
  return ns;
}

std::int64_t OnDemand::grow(const Request& request, std::int64_t bound, std::int64_t least_gain, Decision& decision,
                            std::vector<TileShare>& shares) {
  // Grower's loads are additive and alike.
  if (copies_ == 0 || board_.max_load() - bound < least_gain || request.cost.rule != LoadRule::additive ||
      !alike(request.workers))
    return -1;
  const std::int64_t base = board_.max_load();
  GrowOptions options;
  options.copy_budget = copies_;
  options.gain_rule = limits_.gain_rule;
  options.target = bound;
  options.window_ns = request.window_ns;
  options.copy_ns = request.cost.copy_ns;
  options.pinned = request.pinned;
  grower_.grow(board_, &slots_, options, decision.copies);
  if (decision.copies.empty()) return -1;
  time_.polish(board_, bound);
  board_.settle();
  std::erase_if(decision.copies, [&](const Copy& copy) {
    const auto ids = board_.of_expert(copy.expert);
    return std::none_of(ids.begin(), ids.end(),
                        [&](int id) { return board_.replica(id).worker == copy.to && board_.replica(id).tiles > 0; });
  });
  const Nanos migration = migration_ns(decision.copies, request.placement.workers(), request.cost);
  const Nanos exposed = limits_.gain_rule ? std::max<Nanos>(0, migration - request.window_ns) : 0;
  if (decision.copies.empty() || base - board_.max_load() - exposed < least_gain) {
    decision.copies.clear();
    return -1;
  }
  shares = board_.assignment();
  return board_.max_load();
}

}  // namespace afore::placement
