#include "core/records.h"

#include <tuple>

namespace afore {

bool PlannerSpec::operator==(const PlannerSpec& o) const {
  auto key = [](const PlannerSpec& p) {
    return std::tie(p.policy, p.demand_source, p.objective, p.copy_budget, p.gain_rule, p.cost.c0_ns, p.cost.c1_ns,
                    p.cost.c2_ns, p.cost.tile_tokens, p.cost.expert_bytes, p.cost.copy_ns, p.cost.rule, p.cost_name,
                    p.pinned_experts);
  };
  return key(*this) == key(o);
}

}  // namespace afore
