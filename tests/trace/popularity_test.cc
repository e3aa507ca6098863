#include "trace/popularity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace afore::trace {
namespace {

std::vector<double> copy(std::span<const double> weights) { return {weights.begin(), weights.end()}; }

double correlation_of_logs(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = std::log(a[i]), y = std::log(b[i]);
    sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
  }
  return (sab - sa * sb / n) / std::sqrt((saa - sa * sa / n) * (sbb - sb * sb / n));
}

TEST(Popularity, LognormalSkewIsSigma) {
  LayerPopularity layer(20'000, {.skew = 1.5}, 1, 3);
  double sum = 0, squares = 0;
  for (const double w : layer.weights()) {
    sum += std::log(w);
    squares += std::log(w) * std::log(w);
  }
  EXPECT_NEAR(sum / 20'000, 0, 0.05);
  EXPECT_NEAR(squares / 20'000, 1.5 * 1.5, 0.1);
}

TEST(Popularity, ZipfWeightsAreRanksInSomeOrder) {
  LayerPopularity layer(64, {.shape = PopularityShape::zipf, .skew = 1.2}, 1, 0);
  for (int step = 0; step < 5; ++step) {
    std::vector<double> weights = copy(layer.weights());
    std::sort(weights.rbegin(), weights.rend());
    for (int rank = 0; rank < 64; ++rank) EXPECT_NEAR(weights[rank], std::pow(rank + 1, -1.2), 1e-14);
    layer.advance();
  }
}

TEST(Popularity, DriftIsTheStepToStepCorrelation) {
  LayerPopularity layer(20'000, {.drift = 0.2}, 5, 0);
  const auto before = copy(layer.weights());
  layer.advance();
  EXPECT_NEAR(correlation_of_logs(before, copy(layer.weights())), 0.8, 0.02);
  layer.advance();
  EXPECT_NEAR(correlation_of_logs(before, copy(layer.weights())), 0.64, 0.03);
  layer.redraw();
  EXPECT_NEAR(correlation_of_logs(before, copy(layer.weights())), 0, 0.03);

  LayerPopularity still(64, {.drift = 0}, 5, 0);
  const auto fixed = copy(still.weights());
  still.advance();
  EXPECT_EQ(fixed, copy(still.weights()));
}

TEST(Popularity, ABurstMultipliesOneExpertAndEnds) {
  LayerPopularity quiet(16, {.drift = 0}, 2, 0), bursty(16, {.drift = 0, .burst = 0.1}, 2, 0);
  const auto base = copy(quiet.weights());
  int hot_steps = 0, starts = 0, before = 0;
  for (int step = 0; step < 2000; ++step) {
    bursty.advance();
    int hot = 0;
    for (int e = 0; e < 16; ++e) {
      const double gain = bursty.weights()[e] / base[e];
      EXPECT_TRUE(std::fabs(gain - 1) < 1e-12 || std::fabs(gain - kBurstGain) < 1e-12) << gain;
      hot += gain > 2;
    }
    starts += hot > before;
    hot_steps += hot;
    before = hot;
  }
  EXPECT_GT(starts, 60);
  // 0.1 bursts a step of 20 steps each, less what overlaps on one expert.
  EXPECT_NEAR(hot_steps / 2000.0, 2.0, 0.4);
}

TEST(Popularity, LayersAndSeedsAreIndependent) {
  LayerPopularity a(512, {}, 1, 0), same(512, {}, 1, 0), other_layer(512, {}, 1, 1), other_seed(512, {}, 2, 0);
  EXPECT_EQ(copy(a.weights()), copy(same.weights()));
  EXPECT_NEAR(correlation_of_logs(copy(a.weights()), copy(other_layer.weights())), 0, 0.2);
  EXPECT_NEAR(correlation_of_logs(copy(a.weights()), copy(other_seed.weights())), 0, 0.2);
}

}  // namespace
}  // namespace afore::trace
