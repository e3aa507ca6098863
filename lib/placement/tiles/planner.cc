#include "placement/tiles/planner.h"

#include <algorithm>

#include "placement/frame.h"
#include "placement/tiles/bounds.h"
#include "placement/tiles/copies.h"
#include "placement/tiles/emit.h"
#include "placement/tiles/install.h"
#include "placement/tiles/split.h"
#include "util/error.h"

namespace afore::placement {
namespace {

using namespace tiles;

constexpr std::size_t kLayers = 256;  // further layers share what is kept per layer

class TilePolicy final : public Policy {
 public:
  TilePolicy(const Limits& limits, std::int64_t node_budget) : planner_(limits, node_budget) {}
  void plan(const Request& request, Decision& decision) override { planner_.plan(request, decision); }

 private:
  TilePlanner planner_;
};

Limits by_tiles(Limits limits) {
  limits.objective = Objective::tiles;
  return limits;
}

}  // namespace

class TilePlanner::Impl {
 public:
  Impl(const Limits& limits, std::int64_t node_budget)
      : limits_(limits), node_budget_(node_budget), wide_(by_tiles(limits)), layers_(kLayers) {}

  void plan(const Request& request, Decision& decision) {
    Layer& layer = layer_of(request);
    Flow& flow = layer.flow;
    demand_.count(layer.standing, request.counts, request.cost.tile_tokens);
    nodes_ = 0;
    if (demand_.total >= kMostTiles) return plan_wide(request, decision);
    clear(decision);
    const auto floor = static_cast<Tiles>(ceil_div(demand_.total, request.placement.workers()));
    flow.reset(layer.standing, demand_.tiles, demand_.home_load);
    const bool may_copy = limits_.copy_budget > 0;
    const Tiles base = split(flow, floor, decision.cut, may_copy ? &at_floor_ : nullptr);
    decision.max_tiles_before = base;
    decision.lower_bound_ns = volume_bound_ns(demand_, request);
    decision.lower_bound_tiles = proven_ = base;
    if (base > floor && may_copy) grow(layer.standing, flow, request, floor, decision);
    if (decision.copies.empty()) {
      merge_parts(flow, base);
      decision.ffn_ns_before = slowest_ns(flow, demand_, request, activated_);
    }
    emit(flow, demand_, decision.assignment);
  }

  std::int64_t proven() const { return proven_; }
  std::int64_t nodes() const { return nodes_; }

 private:
  struct Layer {
    Standing standing;
    Flow flow;
  };

  Layer& layer_of(const Request& request) {
    auto& layer = layers_[static_cast<std::size_t>(request.target.layer) % kLayers];
    if (!layer) layer = std::make_unique<Layer>();
    layer->standing.reset(request.placement, request.workers);
    return *layer;
  }

  // All but the assignment, whose buffer is written over in place.
  static void clear(Decision& decision) {
    decision.copies.clear();
    decision.assignment_tokens.clear();
    decision.cut.clear();
    decision.split_bound_ns = 0;
    decision.budget_hit = false;
    decision.certified = true;
  }

  // The copies that pay, if any; the flow then holds the split over the placement after them.
  void grow(const Standing& standing, Flow& flow, const Request& request, Tiles floor, Decision& decision) {
    slots_.reset(standing, request.busy, request.last_used, limits_.copy_budget);
    if (slots_.room().copies == 0) return;
    const auto base = static_cast<Tiles>(decision.max_tiles_before);
    flow.save(before_);
    decision.ffn_ns_before = slowest_ns(flow, demand_, request, activated_);
    CopyCall call{request, demand_.home_load, at_floor_, before_, floor, base, floor, limits_.gain_rule, node_budget_};
    call.bound = bounds_.by_cut(flow, slots_.room(), floor, base, decision.cut);
    chooser_.start(call);
    // Most targets get to the mean at once, or no copy can help; then no other bound is needed.
    if (call.bound < base && !(call.bound == floor && chooser_.at_once(flow, slots_, call))) {
      call.bound = bound(flow, floor, base);
      if (call.bound < base) chooser_.choose(flow, slots_, call);
    }
    decision.cut.assign(bounds_.cut().begin(), bounds_.cut().end());
    decision.lower_bound_tiles = call.bound;
    nodes_ = chooser_.nodes();
    proven_ = std::max(call.bound, chooser_.proven());
    decision.budget_hit = chooser_.budget_hit();
    Tiles load = base;
    if (chooser_.chosen().empty()) {
      flow.restore(before_);
    } else {
      load = installer_.install(flow, slots_, call, chooser_.chosen(), chooser_.chosen_work(call.bound));
      for (const Made& made : installer_.copies())
        decision.copies.push_back(
            {made.expert, request.placement.primary(made.expert), made.worker, slots_.slot(made.slot).slot});
    }
    decision.certified = load == call.bound;
  }

  // Bounds of the placement, then of what stays closed when loads are lowered to the bound itself.
  Tiles bound(Flow& flow, Tiles floor, Tiles base) {
    bounds_.improve(flow, slots_.room(), base);
    while (bounds_.bound() < base) {
      flow.restore(at_floor_);
      if (bounds_.bound() > floor) lower_to(flow, bounds_.bound());
      if (!bounds_.raise(flow, slots_.room())) break;
    }
    return bounds_.bound();
  }

  // Beyond 32 bits only what stands is split.
  void plan_wide(const Request& request, Decision& decision) {
    decision.clear();
    wide_.stand(request, decision);
    decision.assignment = wide_.board().assignment();
    decision.certified = decision.max_tiles_before == decision.lower_bound_tiles;
    proven_ = decision.lower_bound_tiles;
  }

  Limits limits_;
  std::int64_t node_budget_;
  Frame wide_;
  std::vector<std::unique_ptr<Layer>> layers_;
  Demand demand_;
  OpenSlots slots_;
  TileBounds bounds_;
  CopyChooser chooser_;
  Installer installer_;
  Flow::Saved at_floor_, before_;
  std::vector<int> activated_;
  std::int64_t proven_ = 0, nodes_ = 0;
};

TilePlanner::TilePlanner(const Limits& limits, std::int64_t node_budget)
    : impl_(std::make_unique<Impl>(limits, node_budget)) {}
TilePlanner::~TilePlanner() = default;
void TilePlanner::plan(const Request& request, Decision& decision) { impl_->plan(request, decision); }
std::int64_t TilePlanner::proven_tiles() const { return impl_->proven(); }
std::int64_t TilePlanner::nodes() const { return impl_->nodes(); }

std::unique_ptr<Policy> make_tiles(const Limits& limits, std::int64_t node_budget) {
  return std::make_unique<TilePolicy>(limits, node_budget);
}

}  // namespace afore::placement
