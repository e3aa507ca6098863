#include "placement/director/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace afore::placement::director {
namespace {

constexpr int kTargets = 24;                 // linear programs solved at most
constexpr int kDraws = 4;                    // roundings per target that is not refuted
constexpr int kChanges = 300;                // tried on each
constexpr std::size_t kMostPairs = 1 << 16;  // of experts with work and workers; beyond, no relaxation is solved
constexpr std::int64_t kFine = 512;          // targets closer than 1/512 are not told apart

// The least load of at least `load` that a worker can have: a bound between two of them is as good as the upper one.
// Where workers differ or rows cost, `load` itself.
std::int64_t attainable(const Instance& in, std::int64_t load) {
  const LayerCost& cost = in.cost();
  const bool alike = std::all_of(in.traits().begin(), in.traits().end(),
                                 [](const WorkerTraits& traits) { return traits.slowdown_permille == 1000; });
  if (!alike || in.link().row_ns > 0 || load <= 0 || cost.c1_ns == 0) return load;
  std::int64_t least = cost.c1_ns * ceil_div(load, cost.c1_ns);
  if (cost.rule == LoadRule::roofline)
    return cost.c2_ns == 0 ? least : std::min(least, cost.c2_ns * ceil_div(load, cost.c2_ns));
  if (cost.c2_ns == 0) return least;
  least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t active = 1; active <= std::ssize(in.active()); ++active) {
    const std::int64_t beside = std::max<std::int64_t>(0, load - cost.c2_ns * active);
    least = std::min(least, cost.load_ns(std::max(active, ceil_div(beside, cost.c1_ns)), active));
  }
  return least;
}

}  // namespace

void Solver::consider(const Layout& layout) {
  const std::int64_t objective = evaluator_.split(layout);
  if (objective > best_ || (objective == best_ && layout.copies() >= best_layout_.copies())) return;
  best_ = objective;
  best_layout_ = layout;
  best_assignment_ = evaluator_.assignment();
}

// Roundings of what the relaxation last solved wishes for; true where one reaches the target.
bool Solver::try_target(std::int64_t target, Rng& rng) {
  for (int i = 0; i < kDraws && best_ > target; ++i) {
    rounding_.draw(wishes_, i == 0, rng, layout_);
    rounding_.repair(layout_, target);
    rounding_.walk(wishes_, kChanges, target, rng, layout_);
    consider(layout_);
  }
  return best_ <= target;
}

// Targets below proven_ are refuted by a bound; at those below `missed` rounding found nothing, which proves nothing.
int Solver::search(const Options& options) {
  const Target& target = instance_.request().target;
  Rng rng(options.seed, fmt::format("director {} {} {}", target.step, target.layer, target.microbatch));
  if (instance_.active().size() * static_cast<std::size_t>(instance_.workers()) > kMostPairs) {
    wishes_.clear();
    try_target(proven_, rng);
    return 0;
  }
  relaxation_.reset(instance_);
  std::int64_t missed = proven_;
  std::int64_t stride = std::max<std::int64_t>(1, proven_ / kFine);
  std::int64_t feasible = best_;  // the least target that no relaxation refuted
  while (relaxation_.solves() < kTargets && best_ > proven_) {
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
      proven_ = attainable(instance_, at + 1);
      missed = std::max(missed, proven_);
      stride *= 2;
      continue;
    }
    feasible = std::min(feasible, at);
    if (proving && feasible - proven_ > proven_ / kFine) continue;
    relaxation_.wishes(wishes_);
    if (!try_target(at, rng)) missed = std::max(missed, at + 1);
  }
  return relaxation_.solves();
}

void Solver::solve(const Request& request, const Options& options, Solution& solution) {
  instance_.reset(request, options.objective, options.copy_budget, options.link);
  evaluator_.reset(instance_);
  rounding_.reset(instance_, evaluator_);
  layout_.reset(instance_);
  best_layout_.reset(instance_);
  best_ = evaluator_.split(layout_);
  standing_ = best_assignment_ = evaluator_.assignment();
  proven_ = attainable(instance_, instance_.bound());
  solution.programs = 0;
  if (best_ > proven_) {
    solution.programs = search(options);
    if (best_layout_.copies() > 0) {
      layout_ = best_layout_;
      rounding_.thin(layout_, best_);
      consider(layout_);
    }
  }
  emit(instance_, standing_, best_assignment_, solution);
  solution.bound_ns = instance_.cost().c0_ns + std::min(proven_, best_);
}

}  // namespace afore::placement::director
