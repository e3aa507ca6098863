#pragma once
// Loads drawn as NVIDIA's aiconfigurator collector draws them (docs/metrics.md, "power law loads").
#include <cstdint>
#include <vector>

#include "core/measured.h"
#include "util/rng.h"

namespace afore::fit {

// Assignments of each expert on the worker with the most of them (the lowest such worker), which is the one that was
// measured. Needs kind power_law; one entry per local expert.
std::vector<std::int64_t> draw_power_law(const ExpertLoad& load, Rng& rng);

}  // namespace afore::fit
