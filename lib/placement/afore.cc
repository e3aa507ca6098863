// Our policy. Primaries are balanced when weights are loaded (primaries.h), redundant slots hold residents chosen for
// the targets to come (residents.h), every target is split exactly over what stands, and copies of its own are made
// only for a net gain (on_demand.h). Under time the split is then levelled: FFN workers do not wait for each other
// inside a target, so what counts is when the last of them is done, not what takes the target longest by itself
// (backlog.h).
#include <algorithm>

#include "placement/backlog.h"
#include "placement/exact/time_split.h"
#include "placement/level.h"
#include "placement/on_demand.h"
#include "placement/residents.h"

namespace afore::placement {
namespace {

// A copy of its own must save a target this share of its time: below that, replicas that come and go bring pipelines
// no throughput (docs/results.md, "What copies bring").
constexpr std::int64_t kLeastGainPercent = 8;
// A target may take this much longer by itself, where workers are done earlier for it.
constexpr std::int64_t kLevelPercent = 25;

class AforePolicy final : public Policy {
 public:
  explicit AforePolicy(const Limits& limits)
      : limits_(limits), on_demand_(limits), backlog_(std::max(1, limits.microbatches)) {}

  void plan(const Request& request, Decision& decision) override {
    decision.clear();
    const LayerCost& cost = request.cost;
    count_tiles(request.counts, cost.tile_tokens, demand_);
    table_.reset(request.placement, request.workers);
    SplitProblem problem = problem_of(request, table_);
    SplitResult split = splitter_.plan(problem, parts_);
    if (limits_.node_budget > 0 && !split.certified()) split = splitter_.prove(problem, parts_, limits_.node_budget);
    decision.budget_hit = split.budget_hit;
    decision.max_tiles_before = by_tiles() ? split.load : largest_tiles();
    decision.ffn_ns_before = cost.c0_ns + (by_tiles() ? largest_ns(request) : split.load);
    if (!by_tiles()) decision.split_bound_ns = cost.c0_ns + split.bound;
    const std::int64_t bound = on_demand_.bound(request, problem, parts_, decision);

    const std::int64_t least_gain = by_tiles() ? 1 : std::max<std::int64_t>(1, split.load * kLeastGainPercent / 100);
    const std::int64_t grown = on_demand_.grow(request, bound, least_gain, decision, shares_);
    if (grown >= 0) {
      take_copies(request, decision);
      level(request, problem_of(request, grown_table_), decision, least_cap(request, decision, grown));
    } else {
      level(request, problem, decision, split.load + split.load * kLevelPercent / 100);
    }
  }

 private:
  bool by_tiles() const { return limits_.objective == Objective::tiles; }

  SplitProblem problem_of(const Request& request, const ReplicaTable& table) const {
    if (by_tiles()) return {table, demand_, LoadRule::additive, 1, 0, {}};
    return {table, demand_, request.cost.rule, request.cost.c1_ns, request.cost.c2_ns, request.workers};
  }

  // Largest load with everything on the primaries; home_ and state_ are that then.
  std::int64_t primary_load(const SplitProblem& problem) {
    home_.assign(problem.replicas.replicas(), 0);
    for (int e = 0; e < problem.replicas.experts(); ++e)
      if (demand_[e] > 0) home_[problem.replicas.first(e)] = demand_[e];
    state_.reset(problem, home_);
    return *std::max_element(state_.loads().begin(), state_.loads().end());
  }

  std::int64_t largest_tiles() {
    state_.reset({table_, demand_, LoadRule::additive, 1, 0, {}}, parts_);
    return *std::max_element(state_.loads().begin(), state_.loads().end());
  }

  std::int64_t largest_ns(const Request& request) {
    state_.reset({table_, demand_, request.cost.rule, request.cost.c1_ns, request.cost.c2_ns, request.workers}, parts_);
    return *std::max_element(state_.loads().begin(), state_.loads().end());
  }

  // The placement as the target finds it, and its split there.
  void take_copies(const Request& request, const Decision& decision) {
    LayerPlacement after = request.placement;
    for (const Copy& copy : decision.copies) after.set(copy.to, copy.slot, copy.expert);
    grown_table_.reset(after, request.workers);
    parts_.assign(grown_table_.replicas(), 0);
    for (const TileShare& share : shares_)
      for (int id = grown_table_.first(share.expert); id < grown_table_.first(share.expert + 1); ++id)
        if (grown_table_.worker(id) == share.worker) parts_[id] = share.tiles;
  }

  // Copies stay worth their wait: levelling may not give away what they gain.
  std::int64_t least_cap(const Request& request, const Decision& decision, std::int64_t grown) const {
    if (by_tiles() || !limits_.gain_rule) return grown;
    const Nanos migration = migration_ns(decision.copies, request.placement.workers(), request.cost, request.workers);
    const Nanos exposed = std::max<Nanos>(0, migration - request.window_ns);
    return std::max(grown, decision.ffn_ns_before - request.cost.c0_ns - exposed - 1);
  }

  void level(const Request& request, const SplitProblem& problem, Decision& decision, std::int64_t cap) {
    state_.reset(problem, parts_);
    const std::int64_t load = *std::max_element(state_.loads().begin(), state_.loads().end());
    leveler_.go_home(problem, load, parts_);
    const bool levels = limits_.level && !by_tiles();
    if (levels) {
      const std::span<const Nanos> backlog = backlog_.before(problem.replicas.workers());
      decision.backlog_ns.assign(backlog.begin(), backlog.end());
      level_parts(problem, backlog, cap);
    }
    write_assignment(problem.replicas, decision);
    const std::int64_t reached = *std::max_element(leveler_.loads().begin(), leveler_.loads().end());
    if (!by_tiles() && decision.copies.empty())
      decision.ffn_ns_before = std::min(decision.ffn_ns_before, request.cost.c0_ns + reached);
    decision.certified =
        reached == (by_tiles() ? decision.lower_bound_tiles : decision.lower_bound_ns - request.cost.c0_ns);
    if (request.target == last_) return;  // asked again about the same target
    last_ = request.target;
    if (levels) backlog_.add(leveler_.loads(), request.cost.c0_ns);
    residents_.step(request, {problem, parts_, load, volume(problem), decision.ffn_ns_before},
                    limits_.copy_budget - std::ssize(decision.copies), decision.copies);
  }

  // Never later than with everything on the primaries.
  void level_parts(const SplitProblem& problem, std::span<const Nanos> backlog, std::int64_t cap) {
    const std::int64_t levelled = leveler_.level(problem, backlog, cap, parts_);
    const std::int64_t standing = primary_load(problem);
    std::int64_t completion = 0;
    for (int w = 0; w < problem.replicas.workers(); ++w)
      if (state_.load(w) > 0) completion = std::max(completion, backlog[w] + state_.load(w));
    if (completion >= levelled) return;
    parts_ = home_;
    leveler_.level(problem, backlog, std::max(cap, standing), parts_);
  }

  static std::int64_t volume(const SplitProblem& problem) {
    std::int64_t work = 0;
    for (const std::int64_t tiles : problem.tiles)
      if (tiles > 0) work += problem.per_tile * tiles + problem.per_expert;
    return work / problem.replicas.workers();
  }

  void write_assignment(const ReplicaTable& replicas, Decision& decision) const {
    for (int e = 0; e < replicas.experts(); ++e) {
      if (demand_[e] == 0) continue;
      const auto begin = std::ssize(decision.assignment);
      for (int id = replicas.first(e); id < replicas.first(e + 1); ++id)
        if (parts_[id] > 0) decision.assignment.push_back({e, replicas.worker(id), parts_[id]});
      // The primary's replica comes first, wherever it is; the others ascend.
      for (auto at = begin + 1; at < std::ssize(decision.assignment); ++at)
        if (decision.assignment[at].worker < decision.assignment[at - 1].worker)
          std::swap(decision.assignment[at], decision.assignment[at - 1]);
    }
  }

  Limits limits_;
  ExactSplitter splitter_;
  ReplicaTable table_, grown_table_;
  OnDemand on_demand_;
  Backlog backlog_;
  Leveler leveler_;
  Residents residents_;
  WorkerState state_;
  Target last_{-1, -1, -1};
  std::vector<std::int64_t> demand_, parts_, home_;
  std::vector<TileShare> shares_;
};

}  // namespace

std::unique_ptr<Policy> make_afore(const Limits& limits) { return std::make_unique<AforePolicy>(limits); }

}  // namespace afore::placement
