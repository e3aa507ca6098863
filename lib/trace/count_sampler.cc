#include "trace/count_sampler.h"

#include <algorithm>
#include <cmath>

#include "util/error.h"

namespace afore::trace {

// Summed from the back, so that the last expert with a weight gets exactly probability 1 of what is left.
void CountSampler::prepare(std::span<const double> weights, std::vector<double>& tails) {
  tails.resize(weights.size());
  double sum = 0;
  for (std::size_t e = weights.size(); e-- > 0;) tails[e] = sum = weights[e] + sum;
}

void CountSampler::spread(Rng& rng, std::int64_t draws, std::span<const double> weights, std::span<const double> tails,
                          std::span<std::int64_t> counts) {
  for (std::size_t e = 0; e < weights.size() && draws > 0; ++e) {
    if (weights[e] == 0) continue;
    const std::int64_t count = binomial_.draw(rng, draws, weights[e] / tails[e]);
    counts[e] += count;
    draws -= count;
  }
}

void CountSampler::set_weights(std::span<const double> weights) {
  for (const double w : weights) AFORE_CHECK(w >= 0 && std::isfinite(w), "a weight must be a finite number");
  weights_.assign(weights.begin(), weights.end());
  prepare(weights_, tails_);
  AFORE_CHECK(!tails_.empty() && tails_[0] > 0 && std::isfinite(tails_[0]), "no expert has a weight");
}

void CountSampler::draw(Rng& rng, std::int64_t tokens, int top_k, std::span<std::int64_t> counts) {
  AFORE_CHECK(counts.size() == weights_.size() && top_k <= static_cast<int>(weights_.size()), "shape of a draw");
  std::fill(counts.begin(), counts.end(), 0);
  spread(rng, tokens * top_k, weights_, tails_, counts);
  for (;;) {
    std::int64_t excess = 0;
    for (std::int64_t& count : counts) {
      excess += std::max<std::int64_t>(0, count - tokens);
      count = std::min(count, tokens);
    }
    if (excess == 0) return;
    room_.resize(counts.size());
    for (std::size_t e = 0; e < counts.size(); ++e) room_[e] = counts[e] < tokens ? weights_[e] : 0;
    prepare(room_, room_tails_);
    if (room_tails_[0] == 0) {
      for (std::size_t e = 0; e < counts.size(); ++e) room_[e] = static_cast<double>(tokens - counts[e]);
      prepare(room_, room_tails_);
    }
    spread(rng, excess, room_, room_tails_, counts);
  }
}

}  // namespace afore::trace
