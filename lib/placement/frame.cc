#include "placement/frame.h"

#include <algorithm>

namespace afore::placement {

void Frame::split(const LayerPlacement& placement, const Request& request) {
  const LayerCost& cost = request.cost;
  board_.reset(demand_, placement.workers(), by_tiles() ? kTileForm : LoadForm{cost.c1_ns, cost.c2_ns});
  board_.add_standing(placement, request.workers);
  std::int64_t volume = 0;
  for (const std::int64_t tiles : demand_) volume += board_.form().whole(tiles);
  const std::int64_t floor = ceil_div(volume, board_.workers());
  if (by_tiles()) tiles_.split(board_, floor);
  else time_.split(board_, floor);
}

void Frame::stand(const Request& request, Decision& decision, bool keeps_off) {
  const LayerCost& cost = request.cost;
  count_tiles(request.counts, cost.tile_tokens, demand_);
  split(request.placement, request);
  decision.max_tiles_before = board_.max_load_under(kTileForm);
  decision.ffn_ns_before = cost.c0_ns + (is_plain(request) ? board_.max_load_under({cost.c1_ns, cost.c2_ns})
                                                           : std::min(true_loads_.of(board_, request),
                                                                      true_loads_.of_first_replicas(board_, request)));
  const Board& known = keeps_off || !has_draining(request.workers) ? board_ : all_replicas(request);
  slots_.reset(request, known);
  const CopyRoom& room = slots_.room(limits_.copy_budget);
  const std::vector<int> none;
  decision.lower_bound_ns = cost.c0_ns + bounds_.time_bound(known, cost, request.workers, room);
  decision.lower_bound_tiles = bounds_.lower_bound(known, kTileForm, room, by_tiles() ? tiles_.cut() : none);
  if (by_tiles()) decision.cut = bounds_.cut();
}

const Board& Frame::all_replicas(const Request& request) {
  whole_.reset(demand_, request.placement.workers(), board_.form());
  whole_.add_standing(request.placement);
  whole_.settle();
  return whole_;
}

void Frame::certify(const Request& request, Decision& decision) const {
  const WorkerLoads loads =
      worker_loads(decision.assignment, request.placement.workers(), request.cost, request.workers);
  decision.certified =
      by_tiles() ? loads.max_tiles == decision.lower_bound_tiles : loads.max_ns == decision.lower_bound_ns;
}

}  // namespace afore::placement
