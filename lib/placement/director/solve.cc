#include "placement/director/solve.h"

#include <fmt/format.h>

#include <algorithm>

namespace afore::placement::director {
namespace {

constexpr std::int64_t kFine = 512;  // targets closer than 1/512 are not told apart

}  // namespace

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
    rounding_.walk(wishes_, options.changes, target, rng, layout_);
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

void Solver::solve(const Request& request, const Options& options, Solution& solution) {
  instance_.reset(request, options.objective, options.copy_budget, options.link);
  evaluator_.reset(instance_);
  rounding_.reset(instance_, evaluator_);
  layout_.reset(instance_);
  best_layout_.reset(instance_);
  best_ = evaluator_.split(layout_);
  standing_ = best_assignment_ = evaluator_.assignment();
  best_saved_ = 0;
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
  emit(instance_, standing_, best_assignment_, solution);
  solution.bound_ns = instance_.cost().c0_ns + std::min(proven_, best_);
}

}  // namespace afore::placement::director
