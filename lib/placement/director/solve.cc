#include "placement/director/solve.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"

namespace afore::placement::director {
namespace {

constexpr std::int64_t kFine = 512;  // targets closer than 1/512 are not told apart

}  // namespace

double Solution::ratio() const {
  return bound_ns > 0 ? static_cast<double>(objective_ns) / static_cast<double>(bound_ns) : 1;
}

// Slots in order: empty ones, ones of no use to the target, least recently used. One that holds a replica with work
// stays.
void copies_for(const Instance& instance, std::span<const TileShare> assignment, std::vector<Copy>& copies) {
  const LayerPlacement& placement = instance.request().placement;
  copies.clear();
  std::vector<TileShare> wanted(assignment.begin(), assignment.end());
  std::erase_if(wanted, [&](const TileShare& share) { return placement.holds(share.expert, share.worker); });
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const TileShare& a, const TileShare& b) { return a.tiles > b.tiles; });
  std::vector<std::uint8_t> taken(instance.open().size(), 0);
  for (const TileShare& share : assignment)
    for (std::size_t i = 0; i < taken.size(); ++i)
      if (instance.open()[i].worker == share.worker && instance.open()[i].holds == share.expert) taken[i] = 1;
  for (const TileShare& share : wanted) {
    int best = -1;
    const auto open = instance.open_on(share.worker);
    const int first = instance.first_open(share.worker);
    const auto key = [&](int i) {
      return std::pair(open[i].empty ? 0 : open[i].holds == kNoExpert ? 1 : 2, open[i].last_used);
    };
    for (int i = 0; i < static_cast<int>(open.size()); ++i)
      if (!taken[first + i] && (best < 0 || key(i) < key(best))) best = i;
    AFORE_CHECK(best >= 0, "a copy has no slot");
    taken[first + best] = 1;
    copies.push_back({share.expert, placement.primary(share.expert), share.worker, open[best].slot});
  }
}

Nanos Solver::objective_of(const LayerPlacement& after, std::span<const TileShare> assignment) {
  const Instance& in = instance_;
  const Nanos compute = worker_loads(assignment, in.workers(), in.cost(), in.traits()).max_ns;
  if (in.link().row_ns == 0) return compute;
  token_shares(assignment, in.counts(), in.cost().tile_tokens, after, rows_);
  worker_rows_.assign(in.workers(), 0);
  for (const TokenShare& share : rows_) worker_rows_[share.worker] += share.tokens;
  return compute + in.communication(*std::max_element(worker_rows_.begin(), worker_rows_.end()));
}

void Solver::consider(const Layout& layout, const Options& options) {
  const std::int64_t objective = evaluator_.split(layout);
  if (objective > best_) return;
  double saved = 0;
  if (options.together != nullptr) {
    saved = saved_rows(evaluator_.assignment(), instance_.tiles(), instance_.workers(), *options.together);
    if (objective == best_ && (layout.copies() > best_layout_.copies() || saved <= best_saved_)) return;
  } else if (objective == best_ && layout.copies() >= best_layout_.copies()) {
    return;
  }
  best_ = objective;
  best_saved_ = saved;
  best_layout_ = layout;
  best_assignment_ = evaluator_.assignment();
}

// Roundings of the relaxation last solved; true where one reaches the target.
bool Solver::try_target(std::int64_t target, const Options& options, Rng& rng) {
  relaxation_.wishes(wishes_);
  for (int i = 0; i < options.draws && best_ > target; ++i) {
    rounding_.draw(wishes_, i == 0, rng, layout_);
    rounding_.repair(layout_, target);
    consider(layout_, options);
  }
  return best_ <= target;
}

// Targets below proven_ are refuted by a bound; at those below `missed` rounding found nothing, which proves nothing.
void Solver::search(const Options& options) {
  const Target& target = instance_.request().target;
  Rng rng(options.seed, fmt::format("director {} {} {}", target.step, target.layer, target.microbatch));
  relaxation_.reset(instance_);
  std::int64_t missed = proven_;
  std::int64_t stride = std::max<std::int64_t>(1, proven_ / kFine);
  std::int64_t feasible = best_;  // the least target that no relaxation refuted
  while (relaxation_.solves() < options.targets && best_ > proven_) {
    const bool proving = feasible - proven_ > std::max<std::int64_t>(0, proven_ / kFine);
    std::int64_t at;
    if (proving) {
      at = std::min({proven_ + stride, proven_ + (feasible - proven_) / 2, best_ - 1});
      if (relaxation_.solves() == 0) at = proven_;
    } else {
      at = missed + (best_ - missed) / 2;
      if (at >= best_ || best_ - missed <= best_ / kFine) break;
    }
    if (relaxation_.refutes(at)) {
      proven_ = at + 1;
      missed = std::max(missed, proven_);
      stride *= 2;
      continue;
    }
    feasible = std::min(feasible, at);
    if (proving && feasible - proven_ > proven_ / kFine) continue;
    if (!try_target(at, options, rng)) missed = std::max(missed, at + 1);
  }
}

void Solver::finish(const Options& options, Solution& solution) {
  (void)options;
  solution.assignment = best_assignment_;
  copies_for(instance_, solution.assignment, solution.copies);
}

void Solver::solve(const Request& request, const Options& options, Solution& solution) {
  instance_.reset(request, options.objective, options.copy_budget, options.link);
  evaluator_.reset(instance_);
  rounding_.reset(instance_, evaluator_);
  layout_.reset(instance_);
  best_layout_.reset(instance_);
  best_ = evaluator_.split(layout_);
  best_assignment_ = evaluator_.assignment();
  best_saved_ = 0;
  const Nanos c0 = instance_.cost().c0_ns;
  solution.standing_ns = c0 + best_;
  proven_ = instance_.bound();
  solution.programs = 0;
  if (best_ > proven_) {
    search(options);
    solution.programs = relaxation_.solves();
    if (best_layout_.copies() > 0) {
      layout_ = best_layout_;
      rounding_.thin(layout_, best_);
      consider(layout_, options);
    }
  }
  finish(options, solution);
  LayerPlacement after = request.placement;
  for (const Copy& copy : solution.copies) after.set(copy.to, copy.slot, copy.expert);
  solution.objective_ns = objective_of(after, solution.assignment);
  solution.bound_ns = c0 + std::min(proven_, best_);
}

}  // namespace afore::placement::director
