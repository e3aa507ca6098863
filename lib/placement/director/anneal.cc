#include "placement/director/anneal.h"

#include <fmt/format.h>

#include "util/fmath.h"
#include "util/rng.h"

namespace afore::placement::director {
namespace {

constexpr int kEvaluations = 4000;
constexpr double kWarm = 0.03, kCold = 0.001;  // of the objective, at the beginning and the end

}  // namespace

void Annealer::solve(const Request& request, const AnnealOptions& options, Solution& solution) {
  instance_.reset(request, options.objective, options.copy_budget, options.link);
  evaluator_.reset(instance_);
  layout_.reset(instance_);
  std::int64_t best = evaluator_.split(layout_);
  const std::vector<TileShare> standing = evaluator_.assignment();
  std::vector<TileShare> found = standing;
  const std::int64_t bound = instance_.bound();
  solution.bound_ns = instance_.cost().c0_ns + bound;
  solution.programs = 0;

  const Target& target = request.target;
  Rng rng(options.seed, fmt::format("annealing {} {} {}", target.step, target.layer, target.microbatch));
  std::int64_t now = best;
  best_layout_ = layout_;
  double heat = kWarm * static_cast<double>(best);
  const double cooling = fmath::exp(fmath::log(kCold / kWarm) / kEvaluations);
  for (int i = 0; i < kEvaluations && best > bound && instance_.copies() > 0; ++i, heat *= cooling) {
    const int slot = static_cast<int>(rng.below(instance_.open().size()));
    const int before = layout_.is_copy(slot) ? layout_.held(slot) : kNoExpert;
    const int expert = before != kNoExpert && rng.below(4) == 0
                           ? kNoExpert
                           : instance_.active()[static_cast<std::size_t>(rng.below(instance_.active().size()))];
    if (expert != kNoExpert && !layout_.can_set(slot, expert)) continue;
    layout_.set(slot, expert);
    const std::int64_t next = evaluator_.sketch(layout_);
    if (next > now && rng.uniform() >= fmath::exp(static_cast<double>(now - next) / heat)) {
      layout_.set(slot, before);
      continue;
    }
    now = next;
    if (now >= best) continue;
    best = now;
    best_layout_ = layout_;
  }
  if (best_layout_.copies() > 0) {
    evaluator_.split(best_layout_);
    found = evaluator_.assignment();
  }
  emit(instance_, standing, found, solution);
}

}  // namespace afore::placement::director
