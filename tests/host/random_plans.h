#pragma once
// Published plans of every kind, by a seed.
#include "harness.h"
#include "host/threads/plan_bytes.h"

namespace afore::host {

inline PlanShape random_plan_shape(Draw& draw, int max_experts = 12, int max_workers = 6) {
  PlanShape shape;
  shape.experts = static_cast<int>(1 + draw(max_experts));
  shape.workers = static_cast<int>(1 + draw(max_workers));
  shape.slots_per_worker = (shape.experts + shape.workers - 1) / shape.workers + static_cast<int>(1 + draw(3));
  return shape;
}

// Numbers and texts that nothing is worked out from.
inline void draw_figures(Draw& draw, const PlanShape& shape, Plan& plan) {
  const auto list = [&](std::vector<std::int64_t>& values) {
    if (draw(2))
      for (int w = 0; w < shape.workers; ++w) values.push_back(draw(1'000'000));
  };
  const auto text = [&] { return std::string(static_cast<std::size_t>(draw(30)), static_cast<char>('a' + draw(26))); };
  plan.policy = text();
  plan.demand_source = text();
  plan.window_source = text();
  plan.objective = draw(2) ? Objective::time : Objective::tiles;
  plan.rehomes = draw(2) != 0;
  plan.certified = draw(2) != 0;
  plan.budget_hit = draw(2) != 0;
  list(plan.tile_load);
  list(plan.backlog_ns);
  for (std::int64_t n = draw(3); n > 0; --n) plan.cut.push_back(static_cast<int>(draw(shape.workers)));
  for (std::int64_t n = draw(4); n > 0; --n)
    plan.unready.push_back({static_cast<int>(draw(shape.experts)), static_cast<int>(draw(shape.workers))});
  for (std::int64_t* number :
       {&plan.max_tile_load_before, &plan.max_tile_load, &plan.lower_bound, &plan.ffn_ns_before, &plan.ffn_ns,
        &plan.ffn_bound_ns, &plan.split_bound_ns, &plan.completion_ns, &plan.gain_ns, &plan.gain_bound_ns,
        &plan.migration_ns, &plan.window_ns, &plan.exposed_ns})
    *number = draw(1'000'000'000) - 1'000;
  if (draw(2)) plan.predicted_max_tile_load = draw(1'000);
  if (draw(2)) plan.predicted_ffn_ns = draw(1'000);
}

inline pipeline::PlanPtr random_plan(Draw& draw, const PlanShape& shape, std::int64_t serial) {
  LayerPlacement placement(shape.experts, shape.workers, shape.slots_per_worker);
  placement = LayerPlacement::initial(shape.experts, shape.workers,
                                      shape.slots_per_worker - (shape.experts + shape.workers - 1) / shape.workers);
  for (int w = 0; w < shape.workers; ++w)
    if (const int expert = static_cast<int>(draw(shape.experts)); !placement.holds(expert, w))
      placement.set(w, shape.slots_per_worker - 1, expert);
  Plan plan;
  plan.seq = serial;
  plan.target = {draw(1'000), static_cast<int>(draw(60)), static_cast<int>(draw(4))};
  plan.is_virtual = draw(5) == 0;
  draw_figures(draw, shape, plan);
  for (std::int64_t n = draw(5); n > 0; --n)
    plan.copies.push_back({static_cast<int>(draw(shape.experts)), static_cast<int>(draw(shape.workers)),
                           static_cast<int>(draw(shape.workers)),
                           static_cast<int>(draw(shape.slots_per_worker + 1)) - 1});
  const bool own_tokens = !plan.is_virtual && draw(2) == 0;
  const std::int64_t tile = 1 + draw(64);
  Demand demand;
  demand.target = plan.target;
  const Phase phases[] = {Phase::decode, Phase::prefill, Phase::mixed, Phase::warmup};
  demand.phase = phases[draw(4)];
  demand.counts.assign(shape.experts, 0);
  for (int e = 0; e < shape.experts; ++e) {
    for (int w = 0; w < shape.workers; ++w) {
      if ((!plan.is_virtual && !placement.holds(e, w)) || draw(4) == 0) continue;
      const std::int64_t tiles = 1 + draw(4), tokens = draw(3) ? draw(tiles * tile + 1) : 0;
      plan.assignment.push_back({e, w, tiles});
      if (own_tokens) plan.assignment_tokens.push_back({e, w, tokens});
      demand.counts[e] += plan.is_virtual ? tiles * tile : tokens;
    }
  }
  for (const std::int64_t count : demand.counts) demand.tokens += count;
  return pipeline::make_published(std::move(plan), demand, serial, tile, shape.workers, placement);
}

}  // namespace afore::host
