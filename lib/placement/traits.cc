#include "placement/traits.h"

#include <algorithm>

namespace afore::placement {

bool is_kept(const LayerPlacement& placement, std::span<const WorkerTraits> traits, int worker, int slot) {
  if (traits.empty()) return false;
  if (traits[worker].draining) return true;
  const int expert = placement.expert_at(worker, slot);
  return expert != kNoExpert && stand_in(placement, expert, traits) == worker &&
         placement.slot_of(expert, worker) == slot;
}

std::span<const std::uint8_t> not_for_this_target(const Request& request, std::vector<std::uint8_t>& buffer) {
  if (!has_draining(request.workers)) return request.pinned;
  const int experts = request.placement.experts();
  buffer.resize(experts);
  for (int e = 0; e < experts; ++e) {
    const int worker = stand_in(request.placement, e, request.workers);
    buffer[e] = request.is_pinned(e) || (worker >= 0 && drains(request.workers, worker));
  }
  return buffer;
}

bool is_plain(const Request& request) {
  return request.cost.rule == LoadRule::additive &&
         std::all_of(request.workers.begin(), request.workers.end(),
                     [](const WorkerTraits& traits) { return traits.slowdown_permille == 1000; });
}

void TrueLoads::clear(int workers) {
  tiles_.assign(workers, 0);
  activated_.assign(workers, 0);
}

std::int64_t TrueLoads::largest(const Request& request) const {
  Nanos most = 0;
  for (int w = 0; w < static_cast<int>(tiles_.size()); ++w)
    most = std::max(most, ffn_ns(request.cost, request.workers, w, tiles_[w], activated_[w]));
  return most - request.cost.c0_ns;
}

std::int64_t TrueLoads::of(const Board& board, const Request& request) {
  clear(board.workers());
  for (const Replica& replica : board.replicas()) {
    if (replica.tiles == 0) continue;
    tiles_[replica.worker] += replica.tiles;
    activated_[replica.worker] += 1;
  }
  return largest(request);
}

std::int64_t TrueLoads::of_first_replicas(const Board& board, const Request& request) {
  clear(board.workers());
  for (int expert = 0; expert < board.experts(); ++expert) {
    if (board.demand(expert) == 0) continue;
    const int worker = board.replica(board.primary(expert)).worker;
    tiles_[worker] += board.demand(expert);
    activated_[worker] += 1;
  }
  return largest(request);
}

}  // namespace afore::placement
