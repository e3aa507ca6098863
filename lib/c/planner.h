#pragma once
// What stands behind an afore_planner.
#include <memory>
#include <vector>

#include "c/config.h"
#include "c/internal.h"
#include "core/placement.h"
#include "core/records.h"

struct afore_planner {
  explicit afore_planner(const afore::c::Resolved& resolved)
      : model(resolved.model),
        cluster(resolved.cluster),
        initial(afore::LayerPlacement::initial(static_cast<int>(model.experts), static_cast<int>(cluster.ffn_workers),
                                               static_cast<int>(cluster.redundant_slots))),
        planner(resolved.model, resolved.cluster, resolved.cost, resolved.planner),
        is_virtual(resolved.planner.policy == "ideal") {}

  bool knows_layer(int layer) const;
  // The map that stands, or that the layer would start with.
  const afore::LayerPlacement& placement(int layer) const;

  afore::c::ErrorLine error;
  bool broken = false;  // a plan ended half-way: what stands where is not known any more
  const afore::ModelSpec model;
  const afore::ClusterSpec cluster;
  const afore::LayerPlacement initial;
  afore::pipeline::Planner planner;
  const bool is_virtual;
  afore::Demand demand;
  // Of the last plan, which the caller's afore_plan points into.
  std::vector<afore_copy> copies;
  std::vector<afore_share> shares;
  std::vector<std::int64_t> tile_load;
  std::vector<afore::TokenShare> tokens;
};

namespace afore::c {

// Runs `call` for a planner that can go on.
template <class Call>
auto guarded(afore_planner* planner, Call&& call) noexcept -> decltype(call() + 0) {
  if (planner == nullptr) return thread_error().fail(AFORE_E_ARGUMENT, "planner is null");
  if (planner->broken)
    return planner->error.fail(AFORE_E_STATE, "the planner is broken by an earlier failure", "create another one");
  return guarded(planner->error, AFORE_E_CONFIG, call);
}

}  // namespace afore::c
