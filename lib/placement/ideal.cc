// The yardstick: every expert on every worker, copies free. Tiles: the line of tiles cut evenly, which is exact.
// Time: the best of several splits, among them whatever the three phases reach from the placement that stands.
#include <algorithm>

#include "placement/bounds.h"
#include "placement/exact/time_split.h"
#include "placement/grow.h"
#include "placement/policy.h"
#include "placement/split_free.h"
#include "placement/split_tiles.h"
#include "placement/split_time.h"
#include "placement/traits.h"

namespace afore::placement {
namespace {

constexpr int kPackTries = 24;

class IdealPolicy final : public Policy {
 public:
  explicit IdealPolicy(const Limits& limits)
      : limits_(limits), time_(tiles_), grower_(tiles_, time_), standing_(make_paper(limits)) {
    Limits still = limits;
    still.copy_budget = 0;
    still_ = make_paper(still);
  }

  bool is_virtual() const override { return true; }

  void plan(const Request& request, Decision& decision) override {
    const LayerCost& cost = request.cost;
    const int workers = request.placement.workers();
    const bool by_tiles = limits_.objective == Objective::tiles;
    count_tiles(request.counts, cost.tile_tokens, demand_);
    const LoadForm form{cost.c1_ns, cost.c2_ns};
    // What the placement that stands allows: its value without copies, and a split no worse than the three phases'.
    const Decision standing = standing_->decide(request);
    decision.clear();
    decision.max_tiles_before = standing.max_tiles_before;
    decision.ffn_ns_before = standing.ffn_ns_before;
    decision.lower_bound_tiles = Bounds::everywhere(demand_, workers, {1, 0});
    const std::int64_t bound = Bounds::time_everywhere(demand_, workers, cost, request.workers);
    decision.lower_bound_ns = cost.c0_ns + bound;
    if (by_tiles) {
      cut_line(demand_, workers, parts_);
      load_parts(workers, {1, 0});
    } else {
      search(standing.assignment, workers, form, bound);
    }
    decision.assignment = board_.assignment();
    if (!by_tiles && !is_plain(request)) return search_by_traits(request, standing, decision);
    decision.certified = board_.max_load() <= (by_tiles ? decision.lower_bound_tiles : bound);
  }

 private:
  // Where workers differ or the roofline rule holds: the best by true time of what the searches for neither found, the
  // exact splitter's answer over every expert everywhere, and what stands.
  void search_by_traits(const Request& request, const Decision& standing, Decision& decision) {
    const int workers = request.placement.workers();
    const auto ns = [&](std::span<const TileShare> assignment) {
      return worker_loads(assignment, workers, request.cost, request.workers).max_ns;
    };
    Nanos best = ns(decision.assignment);
    const auto consider = [&](const std::vector<TileShare>& assignment) {
      const Nanos time = ns(assignment);
      if (time >= best) return;
      best = time;
      decision.assignment = assignment;
    };
    consider(standing.assignment);
    const Decision still = still_->decide(request);
    decision.ffn_ns_before = still.ffn_ns_before;
    consider(still.assignment);
    shares_.clear();
    for (int e = 0; e < static_cast<int>(demand_.size()); ++e)
      if (demand_[e] > 0) shares_.push_back({e, stand_in(request.placement, e, request.workers), demand_[e]});
    consider(shares_);
    split_everywhere(request);
    consider(shares_);
    decision.certified = best == decision.lower_bound_ns;
  }

  // Of experts with work only; into shares_.
  void split_everywhere(const Request& request) {
    const int workers = request.placement.workers();
    homes_.assign(demand_.size(), -1);
    extras_.clear();
    for (int e = 0; e < static_cast<int>(demand_.size()); ++e) {
      if (demand_[e] == 0) continue;
      homes_[e] = 0;
      for (int w = 1; w < workers; ++w) extras_.push_back({e, w});
    }
    table_.assign(homes_, workers, extras_);
    exact_.plan({table_, demand_, request.cost.rule, request.cost.c1_ns, request.cost.c2_ns, request.workers},
                tiles_of_);
    shares_.clear();
    for (int id = 0; id < table_.replicas(); ++id)
      if (tiles_of_[id] > 0) shares_.push_back({table_.expert(id), table_.worker(id), tiles_of_[id]});
  }

  // The board then holds only the replicas in use.
  void load_parts(int workers, LoadForm form) {
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
      return a.expert != b.expert ? a.expert < b.expert : a.worker < b.worker;
    });
    board_.reset(demand_, workers, form);
    int last = -1;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const bool same = i > 0 && parts_[i].expert == parts_[i - 1].expert && parts_[i].worker == parts_[i - 1].worker;
      if (!same) last = board_.add(parts_[i].expert, parts_[i].worker);
      board_.put(last, parts_[i].tiles);
    }
    board_.settle();
  }

  void keep_if_better() {
    if (best_ >= 0 && board_.max_load() >= best_) return;
    best_ = board_.max_load();
    best_parts_.clear();
    for (const Replica& replica : board_.replicas())
      if (replica.tiles > 0) best_parts_.push_back({replica.expert, replica.worker, replica.tiles});
  }

  // Any worker may take any expert: single moves, then growing without slots, copies or prices.
  void improve(std::int64_t bound) {
    time_.polish(board_, bound);
    board_.settle();
    GrowOptions options;
    options.target = bound;
    grower_.grow(board_, nullptr, options, copies_);
    time_.polish(board_, bound);
    board_.settle();
    keep_if_better();
  }

  void search(std::span<const TileShare> standing, int workers, LoadForm form, std::int64_t bound) {
    best_ = -1;
    parts_.clear();
    for (const TileShare& share : standing) parts_.push_back({share.expert, share.worker, share.tiles});
    load_parts(workers, form);
    keep_if_better();
    if (best_ > bound) improve(bound);
    if (best_ > bound) {
      cut_line(demand_, workers, parts_);
      load_parts(workers, form);
      improve(bound);
    }
    // Packing gets tighter by halves; it is not monotone, so a failure only moves the lower end.
    std::int64_t fails = bound - 1;
    bool packed = false;
    for (int i = 0; i < kPackTries && best_ - fails > 1; ++i) {
      const std::int64_t limit = i == 0 ? bound : fails + (best_ - fails) / 2;
      if (!pack_under(demand_, workers, form, limit, parts_)) {
        fails = limit;
        continue;
      }
      load_parts(workers, form);
      keep_if_better();
      packed = true;
    }
    if (packed && best_ > bound) {
      parts_ = best_parts_;
      load_parts(workers, form);
      improve(bound);
    }
    parts_ = best_parts_;
    load_parts(workers, form);
  }

  Limits limits_;
  TileSplitter tiles_;
  TimeSplitter time_;
  Grower grower_;
  std::unique_ptr<Policy> standing_, still_;
  Board board_;
  ExactSplitter exact_;
  ReplicaTable table_;
  std::vector<int> homes_;
  std::vector<ReplicaTable::Extra> extras_;
  std::vector<TileShare> shares_;
  std::vector<std::int64_t> demand_, tiles_of_;
  std::vector<Part> parts_, best_parts_;
  std::vector<Copy> copies_;
  std::int64_t best_ = -1;
};

}  // namespace

std::unique_ptr<Policy> make_ideal(const Limits& limits) { return std::make_unique<IdealPolicy>(limits); }

}  // namespace afore::placement
