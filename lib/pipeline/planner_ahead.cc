// The planner's part in copies that are made ahead, by predictions.
#include <algorithm>

#include "pipeline/planner.h"

namespace afore::pipeline {

void Planner::make_ahead(const placement::PolicyInfo& info, Way& way) const {
  const placement::Limits& limits = way.options.limits;
  std::unique_ptr<placement::Policy> rule;
  if (info.make_ahead != nullptr) {
    rule = info.make_ahead(limits);
    way.judge = std::make_unique<AheadJudge>(cluster_, cost_, limits);
  } else if (way.options.source == DemandSource::prediction && way.policy) {
    // The policy plans what is predicted; the truth is split over what stands, and judged by what could be reached.
    rule = std::move(way.policy);
    way.policy = placement::make_paper(limits);
    placement::Limits no_copies = limits;
    no_copies.copy_budget = 0;
    way.standing = placement::make_paper(no_copies);
  } else {
    return;
  }
  way.ahead =
      std::make_unique<AheadPlanner>(cluster_, cost_, limits.copy_budget, way.options.layers_ahead, std::move(rule));
}

void Planner::on_prediction(const Prediction& prediction) {
  if (way_->ahead) way_->ahead->on_prediction(prediction);
}

// What the policy is asked: the layer without replicas that copies made ahead have not brought yet, which are told in
// plan.unready. Refers to buffers of the planner until the next call.
placement::Request Planner::request_of(const Demand& demand, Way& way, const LayerState& state, Plan& plan) {
  const Target& target = demand.target;
  const placement::Request asked{target, demand.counts,  state.placement, state.busy(),    state.last_used,
                                 cost_,  plan.window_ns, pinned_,         cluster_.workers};
  const std::span<const placement::Arriving> arriving =
      way.ahead ? way.ahead->arriving(target.layer) : std::span<const placement::Arriving>{};
  placement::Request request = without_arriving_.request(asked, arriving);
  plan.unready.assign(without_arriving_.unready().begin(), without_arriving_.unready().end());
  if (way.judge) {
    const Nanos between = way.ahead->between_ns(way.options.layers_ahead, preceding_ffn_ns_.value_or(0));
    way.judge->observe(demand, state, request.placement, way.ahead->predicted(target, target.layer - 1),
                       plan.window_ns + between, *way.ahead);
    request.kept = way.judge->slots(target.layer);
  }
  return request;
}

void Planner::plan_ahead(const Demand& demand, Way& way, Plan& plan) {
  if (!way.ahead) return;
  AheadPlanner::Slots slots;
  if (way.judge) slots = [&](int layer) { return way.judge->slots(layer); };
  way.ahead->plan(demand, layers_, pinned_, slots, plan);
}

}  // namespace afore::pipeline
