// The yardstick: every expert on every worker, copies free. Tiles: the line of tiles cut evenly, which is exact.
// Time: the best of several splits, among them whatever the three phases reach from the placement that stands.
#include <algorithm>

#include "placement/bounds.h"
#include "placement/grow.h"
#include "placement/policy.h"
#include "placement/split_free.h"
#include "placement/split_tiles.h"
#include "placement/split_time.h"

namespace afore::placement {
namespace {

constexpr int kPackTries = 24;

class IdealPolicy final : public Policy {
 public:
  explicit IdealPolicy(const Limits& limits)
      : limits_(limits), time_(tiles_), grower_(tiles_, time_), standing_(make_paper(limits)) {}

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
    const std::int64_t bound = Bounds::everywhere(demand_, workers, form);
    decision.lower_bound_ns = cost.c0_ns + bound;
    if (by_tiles) {
      cut_line(demand_, workers, parts_);
      load_parts(workers, {1, 0});
    } else {
      search(standing.assignment, workers, form, bound);
    }
    decision.assignment = board_.assignment();
    decision.certified = board_.max_load() <= (by_tiles ? decision.lower_bound_tiles : bound);
  }

 private:
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
  std::unique_ptr<Policy> standing_;
  Board board_;
  std::vector<std::int64_t> demand_;
  std::vector<Part> parts_, best_parts_;
  std::vector<Copy> copies_;
  std::int64_t best_ = -1;
};

}  // namespace

std::unique_ptr<Policy> make_ideal(const Limits& limits) { return std::make_unique<IdealPolicy>(limits); }

}  // namespace afore::placement
