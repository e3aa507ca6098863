// Director's optimiser and its annealing baseline among the policies: for whatever demand the request has, copies and
// an exact split, never worse than the best split over what stands. Neither weighs what copies take: in Director they
// are made ahead of the target.
#include <functional>

#include "placement/director/anneal.h"
#include "placement/director/solve.h"
#include "placement/frame.h"
#include "placement/grow.h"
#include "placement/policy.h"

namespace afore::placement {
namespace {

using director::Solution;
using Solve = std::function<void(const Request&, const Limits&, Solution&)>;

class OptimisedPolicy final : public Policy {
 public:
  OptimisedPolicy(const Limits& limits, bool relaxes, Solve solve)
      : limits_(limits), relaxes_(relaxes), solve_(std::move(solve)), frame_(limits) {}

  void plan(const Request& request, Decision& decision) override {
    decision.clear();
    frame_.stand(request, decision);
    standing_ = frame_.board().assignment();
    solve_(request, limits_, solution_);
    const bool by_time = limits_.objective == Objective::time;
    if (relaxes_ && by_time) decision.relaxation_bound_ns = solution_.bound_ns;
    decision.copies = solution_.copies;
    decision.assignment = solution_.assignment;
    if (!decision.copies.empty()) split_again(request, decision);
    if (value(request, standing_) <= value(request, decision.assignment)) {
      decision.copies.clear();
      decision.assignment = standing_;
    }
    if (decision.copies.empty() && by_time)
      decision.ffn_ns_before = std::min(decision.ffn_ns_before, value(request, decision.assignment));
    frame_.certify(request, decision);
  }

 private:
  std::int64_t value(const Request& request, std::span<const TileShare> assignment) const {
    const WorkerLoads loads = worker_loads(assignment, request.placement.workers(), request.cost, request.workers);
    return limits_.objective == Objective::time ? loads.max_ns : loads.max_tiles;
  }

  // The frame's search may split better over the same replicas; a copy without work is dropped.
  void split_again(const Request& request, Decision& decision) {
    LayerPlacement after = request.placement;
    for (const Copy& copy : decision.copies) after.set(copy.to, copy.slot, copy.expert);
    frame_.split(after, request);
    const std::vector<TileShare> again = frame_.board().assignment();
    if (value(request, again) >= value(request, decision.assignment)) return;
    decision.assignment = again;
    drop_idle(frame_.board(), decision.copies);
  }

  Limits limits_;
  bool relaxes_;
  Solve solve_;
  Frame frame_;
  Solution solution_;
  std::vector<TileShare> standing_;
};

}  // namespace

std::unique_ptr<Policy> make_director(const Limits& limits) {
  return std::make_unique<OptimisedPolicy>(
      limits, true,
      [solver = std::make_shared<director::Solver>()](const Request& request, const Limits& given, Solution& solution) {
        director::Options options;
        options.objective = given.objective;
        options.copy_budget = given.copy_budget;
        solver->solve(request, options, solution);
      });
}

std::unique_ptr<Policy> make_annealing(const Limits& limits) {
  return std::make_unique<OptimisedPolicy>(limits, false,
                                           [annealer = std::make_shared<director::Annealer>()](
                                               const Request& request, const Limits& given, Solution& solution) {
                                             director::AnnealOptions options;
                                             options.objective = given.objective;
                                             options.copy_budget = given.copy_budget;
                                             annealer->solve(request, options, solution);
                                           });
}

}  // namespace afore::placement
