#include <algorithm>
#include <tuple>

#include "placement/bounds.h"
#include "placement/rivals.h"
#include "placement/slots.h"
#include "placement/split_tiles.h"
#include "placement/split_time.h"
#include "util/error.h"

namespace afore::placement {
namespace {

constexpr LoadForm kTileForm{1, 0};

class RivalPolicy final : public Policy {
 public:
  RivalPolicy(std::unique_ptr<Rule> rule, const Limits& limits)
      : rule_(std::move(rule)), limits_(limits), time_(tiles_) {}

  Decision decide(const Request& request) override {
    const LayerCost& cost = request.cost;
    Decision decision;
    count_tiles(request.counts, cost.tile_tokens, demand_);
    what_stands(request, decision);
    book_.open(request, limits_.copy_budget);
    rule_->decide(request, book_);
    decision.copies = book_.copies();
    take_tokens(request, decision);
    if (limits_.split == Split::exact) {
      decision.assignment_tokens.clear();
      split(book_.after(), cost);
      decision.assignment = board_.assignment();
    }
    const WorkerLoads loads = worker_loads(decision.assignment, request.placement.workers(), cost);
    decision.certified =
        by_tiles() ? loads.max_tiles == decision.lower_bound_tiles : loads.max_ns == decision.lower_bound_ns;
    return decision;
  }

 private:
  bool by_tiles() const { return limits_.objective == Objective::tiles; }

  void split(const LayerPlacement& placement, const LayerCost& cost) {
    board_.reset(demand_, placement.workers(), by_tiles() ? kTileForm : LoadForm{cost.c1_ns, cost.c2_ns});
    board_.add_standing(placement);
    std::int64_t volume = 0;
    for (const std::int64_t tiles : demand_) volume += board_.form().whole(tiles);
    const std::int64_t floor = ceil_div(volume, board_.workers());
    if (by_tiles()) tiles_.split(board_, floor);
    else time_.split(board_, floor);
  }

  // The best without copies, and what no plan within the limits is below.
  void what_stands(const Request& request, Decision& decision) {
    const LayerCost& cost = request.cost;
    const LoadForm time_form{cost.c1_ns, cost.c2_ns};
    split(request.placement, cost);
    decision.max_tiles_before = board_.max_load_under(kTileForm);
    decision.ffn_ns_before = cost.c0_ns + board_.max_load_under(time_form);
    slots_.reset(request.placement, request.busy, request.last_used, board_);
    const CopyRoom& room = slots_.room(limits_.copy_budget);
    const std::vector<int> none;
    decision.lower_bound_ns = cost.c0_ns + bounds_.lower_bound(board_, time_form, room, none);
    decision.lower_bound_tiles = bounds_.lower_bound(board_, kTileForm, room, by_tiles() ? tiles_.cut() : none);
    if (by_tiles()) decision.cut = bounds_.cut();
  }

  void take_tokens(const Request& request, Decision& decision) {
    tokens_ = book_.tokens();
    std::sort(tokens_.begin(), tokens_.end(), [](const TokenShare& a, const TokenShare& b) {
      return std::tie(a.expert, a.worker) < std::tie(b.expert, b.worker);
    });
    left_.assign(request.counts.begin(), request.counts.end());
    std::vector<TokenShare>& out = decision.assignment_tokens;
    for (const TokenShare& share : tokens_) {
      left_[share.expert] -= share.tokens;
      if (!out.empty() && out.back().expert == share.expert && out.back().worker == share.worker)
        out.back().tokens += share.tokens;
      else out.push_back(share);
    }
    AFORE_CHECK(std::all_of(left_.begin(), left_.end(), [](std::int64_t n) { return n == 0; }),
                "a rule does not give every token once");
    for (const TokenShare& share : out)
      decision.assignment.push_back({share.expert, share.worker, ceil_div(share.tokens, request.cost.tile_tokens)});
  }

  std::unique_ptr<Rule> rule_;
  Limits limits_;
  TileSplitter tiles_;
  TimeSplitter time_;
  Bounds bounds_;
  Board board_;
  SlotTable slots_;
  Book book_;
  std::vector<TokenShare> tokens_;
  std::vector<std::int64_t> demand_, left_;
};

}  // namespace

std::unique_ptr<Policy> rival(std::unique_ptr<Rule> rule, const Limits& limits) {
  return std::make_unique<RivalPolicy>(std::move(rule), limits);
}

}  // namespace afore::placement
