#include "placement/registry.h"

#include <array>

#include "placement/rivals.h"

namespace afore::placement {
namespace {

constexpr std::array kPolicies = {
    PolicyInfo{"static", "everything on the primaries", make_static},
    PolicyInfo{"afore", "copies for a positive net gain, and a split over what stands", make_afore, true},
    PolicyInfo{"joined", "afore, and copies for later layers by what is predicted of them, where that pays", make_afore,
               true, false, make_paper},
    PolicyInfo{"paper", "the three phases as published: copies only for a positive net gain of this target",
               make_paper},
    PolicyInfo{"balanced", "primaries balanced at load, and nothing else", make_static, true},
    PolicyInfo{"split", "every slot filled once, then only exact splits", make_split},
    PolicyInfo{"ideal", "every expert everywhere, copies free: a yardstick", make_ideal},
    PolicyInfo{"eplb", "DeepSeek's balancer, in the background", nullptr},
    PolicyInfo{"llep", "least-loaded spilling over a cap", make_llep},
    PolicyInfo{"quota", "UltraEP's least largest load that its export oracle can meet", make_quota},
    PolicyInfo{"metro", "each expert whole, to the replica whose worker activates fewest", make_metro},
    PolicyInfo{"lplb", "DeepSeek's linear program over fixed redundancy edges", make_lplb},
    PolicyInfo{"harmoeny", "tokens from overloaded workers to the least loaded, in pieces worth a load", make_harmoeny},
    PolicyInfo{"lina", "replicas in proportion to popularity, split evenly", make_lina},
    PolicyInfo{"libra", "the busiest worker's hottest expert to the least loaded, then tokens", make_libra},
    PolicyInfo{"fastermoe", "the hottest experts on all workers, where that saves more than it costs", make_fastermoe},
    PolicyInfo{"director", "copies by linear relaxation and randomised rounding, ahead by predictions", make_director,
               false, true},
    PolicyInfo{"annealing", "the same copies by simulated annealing: director's baseline", make_annealing},
};

}  // namespace

std::span<const PolicyInfo> policies() { return kPolicies; }

const PolicyInfo* find_policy(std::string_view name) {
  for (const PolicyInfo& policy : kPolicies)
    if (name == policy.name) return &policy;
  return nullptr;
}

std::string policy_names(const char* separator) {
  std::string names;
  for (const PolicyInfo& policy : kPolicies) names.append(names.empty() ? "" : separator).append(policy.name);
  return names;
}

}  // namespace afore::placement
