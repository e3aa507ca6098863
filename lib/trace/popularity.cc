#include "trace/popularity.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "util/error.h"
#include "util/fmath.h"

namespace afore::trace {

LayerPopularity::LayerPopularity(int experts, const PopularityOptions& options, std::uint64_t seed, int layer)
    : options_(options),
      keep_(1 - options.drift),
      renew_(std::sqrt(1 - keep_ * keep_)),
      rng_(seed, fmt::format("popularity/{}", layer)),
      scores_(experts),
      weights_(experts),
      hot_steps_(experts),
      order_(experts) {
  AFORE_CHECK(experts > 0 && options.drift >= 0 && options.drift <= 1, "no popularity process");
  redraw();
}

void LayerPopularity::redraw() {
  for (double& score : scores_) score = rng_.normal();
  std::fill(hot_steps_.begin(), hot_steps_.end(), 0);
  update_weights();
}

void LayerPopularity::advance() {
  if (renew_ > 0)
    for (double& score : scores_) score = keep_ * score + renew_ * rng_.normal();
  for (int& left : hot_steps_) left = std::max(0, left - 1);
  if (options_.burst > 0 && rng_.uniform() < options_.burst) {
    const auto expert = rng_.below(scores_.size());
    hot_steps_[expert] = kBurstMinSteps + static_cast<int>(rng_.below(kBurstMaxSteps - kBurstMinSteps + 1));
  }
  update_weights();
}

void LayerPopularity::update_weights() {
  if (options_.shape == PopularityShape::lognormal) {
    for (std::size_t e = 0; e < scores_.size(); ++e) weights_[e] = fmath::exp(options_.skew * scores_[e]);
  } else {
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(),
              [this](int a, int b) { return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : a < b; });
    for (std::size_t rank = 0; rank < order_.size(); ++rank)
      weights_[order_[rank]] = fmath::pow(static_cast<double>(rank + 1), -options_.skew);
  }
  for (std::size_t e = 0; e < weights_.size(); ++e)
    if (hot_steps_[e] > 0) weights_[e] *= kBurstGain;
}

}  // namespace afore::trace
