// The three phases of AFORE (section 5.2), stateless per call: split the target over the replicas that stand, then
// copies by net gain, then the final split with its bound.
#include <algorithm>

#include "placement/bounds.h"
#include "placement/grow.h"
#include "placement/policy.h"
#include "placement/slots.h"
#include "placement/split_tiles.h"
#include "placement/split_time.h"
#include "placement/traits.h"

namespace afore::placement {
namespace {

class PaperPolicy final : public Policy {
 public:
  explicit PaperPolicy(const Limits& limits) : limits_(limits), time_(tiles_), grower_(tiles_, time_) {}

  void plan(const Request& request, Decision& decision) override {
    const LayerCost& cost = request.cost;
    const bool by_tiles = limits_.objective == Objective::tiles;
    const LoadForm form = by_tiles ? kTileForm : LoadForm{cost.c1_ns, cost.c2_ns};
    decision.clear();
    count_tiles(request.counts, cost.tile_tokens, demand_);
    board_.reset(demand_, request.placement.workers(), form);
    board_.add_standing(request.placement, request.workers);
    slots_.reset(request, board_);
    const CopyRoom& room = slots_.room(limits_.copy_budget);

    split(by_tiles);
    set_before(request, decision);
    const std::int64_t bound = set_bounds(request, decision, by_tiles, room);

    if (room.copies > 0 && board_.max_load() > bound) {
      GrowOptions options;
      options.copy_budget = room.copies;
      options.gain_rule = limits_.gain_rule;
      options.target = bound;
      options.ns_per_load = by_tiles ? std::max<Nanos>(1, cost.c1_ns) : 1;
      options.window_ns = request.window_ns;
      options.copy_ns = cost.copy_ns;
      options.pinned = not_for_this_target(request, fixed_);
      grower_.grow(board_, &slots_, options, decision.copies);
      if (!decision.copies.empty()) finish(by_tiles, bound, decision.copies);
      // Growing may end in a split that needs none of its copies: then that is what stands without copies.
      if (decision.copies.empty()) set_before(request, decision);
    }
    const bool plain = by_tiles || is_plain(request);
    decision.certified = (plain ? board_.max_load() : true_loads_.of(board_, request)) <= bound;
    decision.assignment = board_.assignment();
  }

 private:
  void split(bool by_tiles) {
    std::int64_t volume = 0;
    for (const std::int64_t tiles : demand_) volume += board_.form().whole(tiles);
    const std::int64_t floor = ceil_div(volume, board_.workers());
    if (by_tiles) tiles_.split(board_, floor);
    else time_.split(board_, floor);
  }

  void set_before(const Request& request, Decision& decision) {
    const LayerCost& cost = request.cost;
    decision.max_tiles_before = board_.max_load_under(kTileForm);
    decision.ffn_ns_before =
        cost.c0_ns + (is_plain(request)
                          ? board_.max_load_under({cost.c1_ns, cost.c2_ns})
                          : std::min(true_loads_.of(board_, request), true_loads_.of_first_replicas(board_, request)));
  }

  std::int64_t set_bounds(const Request& request, Decision& decision, bool by_tiles, const CopyRoom& room) {
    const LayerCost& cost = request.cost;
    const std::vector<int> none;
    const std::int64_t ns = bounds_.time_bound(board_, cost, request.workers, room);
    const std::int64_t tiles = bounds_.lower_bound(board_, kTileForm, room, by_tiles ? tiles_.cut() : none);
    decision.lower_bound_ns = cost.c0_ns + ns;
    decision.lower_bound_tiles = tiles;
    if (by_tiles) decision.cut = bounds_.cut();
    return by_tiles ? tiles : ns;
  }

  // The grown placement may hold a better split than the one that grew with it. Copies left without work are dropped:
  // what they would have evicted stays.
  void finish(bool by_tiles, std::int64_t bound, std::vector<Copy>& copies) {
    if (by_tiles) {
      tiles_.split(board_, bound);
    } else {
      time_.polish(board_, bound);
      board_.settle();
      const std::int64_t grown = board_.max_load();
      if (grown > bound) {
        board_.save(saved_);
        if (time_.split(board_, bound) >= grown) board_.restore(saved_);
      }
    }
    drop_idle(board_, copies);
  }

  Limits limits_;
  TileSplitter tiles_;
  TimeSplitter time_;
  Grower grower_;
  Bounds bounds_;
  Board board_;
  SlotTable slots_;
  TrueLoads true_loads_;
  std::vector<std::int64_t> demand_, saved_;
  std::vector<std::uint8_t> fixed_;
};

}  // namespace

std::unique_ptr<Policy> make_paper(const Limits& limits) { return std::make_unique<PaperPolicy>(limits); }

}  // namespace afore::placement
