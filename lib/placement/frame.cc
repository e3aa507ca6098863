#include "placement/frame.h"

namespace afore::placement {
namespace {

constexpr LoadForm kTileForm{1, 0};

}  // namespace

void Frame::split(const LayerPlacement& placement, const LayerCost& cost) {
  board_.reset(demand_, placement.workers(), by_tiles() ? kTileForm : LoadForm{cost.c1_ns, cost.c2_ns});
  board_.add_standing(placement);
  std::int64_t volume = 0;
  for (const std::int64_t tiles : demand_) volume += board_.form().whole(tiles);
  const std::int64_t floor = ceil_div(volume, board_.workers());
  if (by_tiles()) tiles_.split(board_, floor);
  else time_.split(board_, floor);
}

void Frame::stand(const Request& request, Decision& decision) {
  const LayerCost& cost = request.cost;
  const LoadForm time_form{cost.c1_ns, cost.c2_ns};
  count_tiles(request.counts, cost.tile_tokens, demand_);
  split(request.placement, cost);
  decision.max_tiles_before = board_.max_load_under(kTileForm);
  decision.ffn_ns_before = cost.c0_ns + board_.max_load_under(time_form);
  slots_.reset(request, board_);
  const CopyRoom& room = slots_.room(limits_.copy_budget);
  const std::vector<int> none;
  decision.lower_bound_ns = cost.c0_ns + bounds_.lower_bound(board_, time_form, room, none);
  decision.lower_bound_tiles = bounds_.lower_bound(board_, kTileForm, room, by_tiles() ? tiles_.cut() : none);
  if (by_tiles()) decision.cut = bounds_.cut();
}

void Frame::certify(const Request& request, Decision& decision) const {
  const WorkerLoads loads = worker_loads(decision.assignment, request.placement.workers(), request.cost);
  decision.certified =
      by_tiles() ? loads.max_tiles == decision.lower_bound_tiles : loads.max_ns == decision.lower_bound_ns;
}

}  // namespace afore::placement
