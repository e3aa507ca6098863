#pragma once
// Expert counts of one target, drawn from a popularity.
#include <cstdint>
#include <span>
#include <vector>

#include "trace/binomial.h"
#include "util/rng.h"

namespace afore::trace {

// A multinomial draw by conditional binomials, where no count may exceed `tokens` (a token chooses an expert at most
// once). What exceeds it is clipped and drawn again over the experts that still have room, by their weights, until
// nothing exceeds; when only experts of weight 0 have room, by room. The result is a multinomial wherever no expert
// is near `tokens`, and it always sums to tokens * top_k.
class CountSampler {
 public:
  // weights: finite, not negative, one per expert, not all 0; kept until the next call.
  void set_weights(std::span<const double> weights);
  // top_k <= number of experts; counts.size() = number of experts.
  void draw(Rng& rng, std::int64_t tokens, int top_k, std::span<std::int64_t> counts);

 private:
  static void prepare(std::span<const double> weights, std::vector<double>& tails);
  void spread(Rng& rng, std::int64_t draws, std::span<const double> weights, std::span<const double> tails,
              std::span<std::int64_t> counts);

  std::vector<double> weights_, tails_;  // tails_[e] = weights of e and all experts after it
  std::vector<double> room_, room_tails_;
  BinomialSampler binomial_;
};

}  // namespace afore::trace
