#pragma once
// How popular the experts of one layer are, step by step: the hidden state of a synthetic trace.
#include <cstdint>
#include <span>
#include <vector>

#include "util/rng.h"

namespace afore::trace {

enum class PopularityShape { lognormal, zipf };

struct PopularityOptions {
  PopularityShape shape = PopularityShape::lognormal;
  double skew = 1;      // sigma of the log-weights, or the exponent of the ranks
  double drift = 0.05;  // correlation of the scores from step to step is 1 - drift, in [0, 1]
  double burst = 0;     // probability, per step, that one random expert of the layer becomes hot
};

inline constexpr double kBurstGain = 8;   // a hot expert's weight is multiplied by this …
inline constexpr int kBurstMinSteps = 8;  // … for 8 to 32 steps
inline constexpr int kBurstMaxSteps = 32;

// Each expert has a score, normal with variance 1, that follows an AR(1) process. lognormal: weight = exp(skew *
// score). zipf: weight = rank^-skew, the highest score having rank 1. Layers are independent streams of the seed, so a
// layer's history does not depend on which others are made.
class LayerPopularity {
 public:
  LayerPopularity(int experts, const PopularityOptions& options, std::uint64_t seed, int layer);

  void advance();  // to the next step
  void redraw();   // new scores, as after a switch of domain; bursts end
  std::span<const double> weights() const { return weights_; }

 private:
  void update_weights();

  PopularityOptions options_;
  double keep_, renew_;  // score' = keep * score + renew * normal
  Rng rng_;
  std::vector<double> scores_, weights_;
  std::vector<int> hot_steps_;  // left, by expert
  std::vector<int> order_;
};

}  // namespace afore::trace
