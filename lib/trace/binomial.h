#pragma once
// How many of `trials` succeed: exact in distribution at every size, in constant time for large means.
#include <cstdint>
#include <vector>

#include "util/rng.h"

namespace afore::trace {

// Inversion below a mean of 10; otherwise the transformed rejection method BTRS (W. Hörmann, "The generation of
// binomial random variates", J. Stat. Comput. Simul. 46, 1993). Keeps the logarithms of the factorials it met, up to
// 512 KiB of them, so one is worth sharing; what it draws depends on its arguments alone.
class BinomialSampler {
 public:
  // trials >= 0, probability in [0, 1].
  std::int64_t draw(Rng& rng, std::int64_t trials, double probability);

 private:
  std::int64_t btrs(Rng& rng, std::int64_t trials, double p);
  double log_factorial(std::int64_t n);

  std::vector<double> log_factorials_;  // log(n!) by n; 0 = not met
};

}  // namespace afore::trace
