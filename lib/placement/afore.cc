// Our policy. Primaries are balanced when weights are loaded (primaries.h), redundant slots hold residents chosen for
// the targets to come (residents.h), every target is split exactly over what stands, and copies of its own are made
// only for a net gain: by tiles/planner.h under objective tiles, by exact/time_split.h and on_demand.h under time.
// There the split is then levelled: FFN workers do not wait for each other inside a target, so what counts is when the
// last of them is done, not what takes the target longest by itself (backlog.h, level.h).
#include <algorithm>

#include "placement/backlog.h"
#include "placement/exact/time_split.h"
#include "placement/level.h"
#include "placement/on_demand.h"
#include "placement/residents.h"
#include "placement/tiles/planner.h"

namespace afore::placement {
namespace {

// A copy of its own must save a target this share of its time: below that, replicas that come and go bring a pipeline
// no throughput (docs/results.md, "What copies bring").
constexpr std::int64_t kLeastGainPercent = 8;
// A target may take this much longer by itself, where workers are done earlier for it.
constexpr std::int64_t kLevelPercent = 25;

std::int64_t largest(std::span<const std::int64_t> loads) { return *std::max_element(loads.begin(), loads.end()); }

// What every worker would have if work could be shared freely: a lower bound, but for the rule and slow workers.
std::int64_t volume(const SplitProblem& problem) {
  std::int64_t work = 0;
  for (const std::int64_t tiles : problem.tiles)
    if (tiles > 0) work += problem.per_tile * tiles + problem.per_expert;
  return work / problem.replicas.workers();
}

// Tiles by replica id from an assignment over the same placement.
void parts_of(std::span<const TileShare> shares, const ReplicaTable& replicas, std::vector<std::int64_t>& parts) {
  parts.assign(replicas.replicas(), 0);
  for (const TileShare& share : shares)
    for (int id = replicas.first(share.expert); id < replicas.first(share.expert + 1); ++id)
      if (replicas.worker(id) == share.worker) parts[id] = share.tiles;
}

void place(std::span<const Copy> copies, const Request& request, ReplicaTable& table) {
  LayerPlacement after = request.placement;
  for (const Copy& copy : copies) after.set(copy.to, copy.slot, copy.expert);
  table.reset(after, request.workers);
}

// Objective time: split, copies of the target's own, levelling. `problem()` and `parts()` are then the split as
// planned.
class TimePlanner {
 public:
  explicit TimePlanner(const Limits& limits)
      : limits_(limits), on_demand_(limits), backlog_(std::max(1, limits.microbatches)) {}

  // `residents`: asked only whether the target is an unusual one.
  void plan(const Request& request, const Residents& residents, Decision& decision) {
    decision.clear();
    const Nanos c0_ns = request.cost.c0_ns;
    count_tiles(request.counts, request.cost.tile_tokens, demand_);
    standing_.reset(request.placement, request.workers);
    table_ = &standing_;
    SplitResult split = splitter_.plan(problem(request), parts_);
    if (limits_.node_budget > 0 && !split.certified())
      split = splitter_.prove(problem(request), parts_, limits_.node_budget);
    load_ = split.load;
    decision.budget_hit = split.budget_hit;
    decision.ffn_ns_before = c0_ns + split.load;
    decision.split_bound_ns = c0_ns + split.bound;
    state_.reset({standing_, demand_, LoadRule::additive, 1, 0, {}}, parts_);
    decision.max_tiles_before = largest(state_.loads());
    const std::int64_t bound = on_demand_.bound(request, problem(request), parts_, decision);

    const std::int64_t least_gain = std::max<std::int64_t>(1, split.load * kLeastGainPercent / 100);
    floor_ = volume(problem(request));
    const bool unusual = residents.unusual(request.target.layer, split.load, floor_);
    const std::int64_t grown = unusual ? on_demand_.grow(request, bound, least_gain, decision, shares_) : -1;
    if (grown < 0 || !plan_with_copies(request, grown, decision)) {
      level(request, decision, split.load + split.load * kLevelPercent / 100);
      write_assignment(decision);
    }
    const Nanos reached = c0_ns + largest(leveler_.loads());
    // Levelling looks elsewhere than the search does, and may find a better split on its way.
    if (decision.copies.empty()) decision.ffn_ns_before = std::min(decision.ffn_ns_before, reached);
    decision.certified = reached == decision.lower_bound_ns;
  }

  SplitProblem problem(const Request& request) const {
    return {*table_, demand_, request.cost.rule, request.cost.c1_ns, request.cost.c2_ns, request.workers};
  }
  std::span<const std::int64_t> parts() const { return parts_; }
  std::int64_t load() const { return load_; }    // largest, before levelling
  std::int64_t floor() const { return floor_; }  // volume of the target
  // The target's loads become backlog.
  void advance(Nanos c0_ns) {
    if (limits_.level) backlog_.add(leveler_.loads(), c0_ns);
  }

 private:
  // The split that the copies were found for, levelled as far as they stay worth their wait. False, and nothing is
  // done, where that would end later than everything on the primaries.
  bool plan_with_copies(const Request& request, std::int64_t grown, Decision& decision) {
    const Nanos migration = migration_ns(decision.copies, request.placement.workers(), request.cost, request.workers);
    const Nanos exposed = limits_.gain_rule ? std::max<Nanos>(0, migration - request.window_ns) : 0;
    const std::int64_t cap = std::max(grown, decision.ffn_ns_before - request.cost.c0_ns - exposed - 1);
    standing_parts_ = parts_;
    place(decision.copies, request, grown_);
    table_ = &grown_;
    parts_of(shares_, grown_, parts_);
    std::swap(load_, grown);
    level(request, decision, cap);
    if (largest(leveler_.loads()) <= cap) {
      write_assignment(decision);
      return true;
    }
    decision.copies.clear();
    table_ = &standing_;
    parts_ = standing_parts_;
    load_ = grown;
    return false;
  }

  void level(const Request& request, Decision& decision, std::int64_t cap) {
    const SplitProblem split = problem(request);
    leveler_.go_home(split, load_, parts_);
    if (limits_.level) {
      const std::span<const Nanos> backlog = backlog_.before(split.replicas.workers());
      decision.backlog_ns.assign(backlog.begin(), backlog.end());
      level_parts(split, backlog, cap);
    }
  }

  // Never later than with everything on the primaries.
  void level_parts(const SplitProblem& split, std::span<const Nanos> backlog, std::int64_t cap) {
    const std::int64_t levelled = leveler_.level(split, backlog, cap, parts_);
    home_.assign(split.replicas.replicas(), 0);
    for (int e = 0; e < split.replicas.experts(); ++e)
      if (demand_[e] > 0) home_[split.replicas.first(e)] = demand_[e];
    state_.reset(split, home_);
    std::int64_t standing_still = 0;
    for (int w = 0; w < split.replicas.workers(); ++w)
      if (state_.load(w) > 0) standing_still = std::max(standing_still, backlog[w] + state_.load(w));
    if (standing_still >= levelled) return;
    parts_ = home_;
    leveler_.level(split, backlog, std::max(cap, largest(state_.loads())), parts_);
  }

  void write_assignment(Decision& decision) const {
    std::vector<TileShare>& shares = decision.assignment;
    for (int e = 0; e < table_->experts(); ++e) {
      if (demand_[e] == 0) continue;
      const auto begin = shares.size();
      for (int id = table_->first(e); id < table_->first(e + 1); ++id)
        if (parts_[id] > 0) shares.push_back({e, table_->worker(id), parts_[id]});
      // The primary's replica comes first, wherever it is; the others ascend.
      for (auto at = begin + 1; at < shares.size(); ++at)
        if (shares[at].worker < shares[at - 1].worker) std::swap(shares[at], shares[at - 1]);
    }
  }

  Limits limits_;
  ExactSplitter splitter_;
  ReplicaTable standing_, grown_;
  const ReplicaTable* table_ = nullptr;
  OnDemand on_demand_;
  Backlog backlog_;
  Leveler leveler_;
  WorkerState state_;
  std::int64_t load_ = 0, floor_ = 0;
  std::vector<std::int64_t> demand_, parts_, standing_parts_, home_;
  std::vector<TileShare> shares_;
};

class AforePolicy final : public Policy {
 public:
  explicit AforePolicy(const Limits& limits) : limits_(limits), time_(limits), tiles_(limits, limits.node_budget) {}

  void plan(const Request& asked, Decision& decision) override {
    const Request request = without_arriving_.request(asked, residents_.arriving(asked.target));
    plan_on(request, asked, decision);
    decision.unready.assign(without_arriving_.unready().begin(), without_arriving_.unready().end());
    std::sort(decision.unready.begin(), decision.unready.end());
  }

 private:
  void plan_on(const Request& request, const Request& asked, Decision& decision) {
    const bool by_tiles = limits_.objective == Objective::tiles;
    if (by_tiles) tiles_.plan(request, decision);
    else time_.plan(request, residents_, decision);
    if (request.target == last_) return;  // asked again about the same target: it is planned only once
    last_ = request.target;
    if (by_tiles) settle_tiles(request, asked, decision);
    else settle_time(request, asked, decision);
  }

  void settle_time(const Request& request, const Request& asked, Decision& decision) {
    time_.advance(request.cost.c0_ns);
    const SplitProblem problem = time_.problem(request);
    residents_.step(asked, {problem, time_.parts(), time_.load(), time_.floor(), decision.ffn_ns_before},
                    limits_.copy_budget - std::ssize(decision.copies), decision.copies);
  }

  void settle_tiles(const Request& request, const Request& asked, Decision& decision) {
    const LayerCost& cost = request.cost;
    if (decision.copies.empty()) table_.reset(request.placement, request.workers);
    else place(decision.copies, request, table_);
    count_tiles(request.counts, cost.tile_tokens, demand_);
    parts_of(decision.assignment, table_, parts_);
    const SplitProblem problem{table_, demand_, LoadRule::additive, 1, 0, {}};
    state_.reset(problem, parts_);
    residents_.step(asked, {problem, parts_, largest(state_.loads()), volume(problem), decision.ffn_ns_before},
                    limits_.copy_budget - std::ssize(decision.copies), decision.copies);
  }

  Limits limits_;
  TimePlanner time_;
  TilePlanner tiles_;
  Residents residents_;
  Target last_{-1, -1, -1};
  ReplicaTable table_;
  WorkerState state_;
  std::vector<std::int64_t> demand_, parts_;
  WithoutArriving without_arriving_;
};

}  // namespace

std::unique_ptr<Policy> make_afore(const Limits& limits) { return std::make_unique<AforePolicy>(limits); }

}  // namespace afore::placement
