#pragma once
// How many of `trials` succeed: exact in distribution at every size, in constant time for large means.
#include <cstdint>

#include "util/rng.h"

namespace afore::trace {

// trials >= 0, probability in [0, 1]. Inversion below a mean of 10; otherwise the transformed rejection method BTRS
// (W. Hörmann, "The generation of binomial random variates", J. Stat. Comput. Simul. 46, 1993).
std::int64_t draw_binomial(Rng& rng, std::int64_t trials, double probability);

}  // namespace afore::trace
