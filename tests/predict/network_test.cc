#include "predict/network.h"

#include <gtest/gtest.h>

#include "util/rng.h"

namespace afore::predict {
namespace {

// Loss: the sum of scores weighted by fixed numbers, so that its gradient by the scores is those numbers.
struct Case {
  Network network = make_network({3, 4, 16, 5});
  Inputs inputs;
  std::vector<float> weights;

  Case() {
    Rng rng(7);
    const auto draw = [&] { return static_cast<float>(rng.normal()); };
    const NetworkShape& shape = network.shape;
    for (int i = 0; i < shape.inputs(); ++i)
      for (int c = 0; c < shape.hidden + shape.experts; ++c)
        network.input[static_cast<std::size_t>(i * shape.columns() + c)] = draw();
    for (int c = 0; c < shape.hidden + shape.experts; ++c) network.bias[static_cast<std::size_t>(c)] = draw();
    for (int h = 0; h < shape.hidden; ++h)
      for (int e = 0; e < shape.experts; ++e)
        network.output[static_cast<std::size_t>(h * shape.score_columns() + e)] = draw();
    inputs.dense_per_token = 3;
    inputs.on_per_token = 2;
    inputs.resize(6);
    for (float& value : inputs.dense) value = draw();
    for (std::int32_t& row : inputs.on) row = static_cast<std::int32_t>(rng.below(5)) - 1;
    weights.assign(static_cast<std::size_t>(6 * shape.score_columns()), 0);
    for (int t = 0; t < 6; ++t)
      for (int e = 0; e < shape.experts; ++e) weights[static_cast<std::size_t>(t * shape.score_columns() + e)] = draw();
  }
  double loss(const Network& of) const {
    Activations out;
    forward(of, inputs, out);
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) sum += static_cast<double>(weights[i]) * out.scores[i];
    return sum;
  }
};

TEST(Network, GradientMeetsFiniteDifferences) {
  Case c;
  Activations out;
  forward(c.network, c.inputs, out);
  Network gradient = make_network(c.network.shape);
  std::vector<float> scratch;
  backward(c.network, c.inputs, out, c.weights, gradient, scratch);
  const auto check = [&](std::vector<float> Network::*values, const char* name) {
    for (std::size_t i = 0; i < (c.network.*values).size(); ++i) {
      constexpr float kStep = 1e-3F;
      Network up = c.network, down = c.network;
      (up.*values)[i] += kStep;
      (down.*values)[i] -= kStep;
      const double by_difference = (c.loss(up) - c.loss(down)) / (2 * kStep);
      EXPECT_NEAR((gradient.*values)[i], by_difference, 0.05) << name << " " << i;
    }
  };
  check(&Network::input, "input");
  check(&Network::bias, "bias");
  check(&Network::output, "output");
}

TEST(Matrix, ProductMeetsItsDefinition) {
  Rng rng(3);
  constexpr int kRows = 7, kInner = 5, kColumns = 32;
  std::vector<float> a(kRows * kInner), w(kInner * kColumns), c(kRows * kColumns, 1), expected(c);
  for (float& value : a) value = static_cast<float>(rng.normal());
  for (float& value : w) value = static_cast<float>(rng.normal());
  for (int i = 0; i < kRows; ++i)
    for (int k = 0; k < kInner; ++k)
      for (int n = 0; n < kColumns; ++n) expected[i * kColumns + n] += a[i * kInner + k] * w[k * kColumns + n];
  multiply_add(a.data(), kInner, 1, w.data(), c.data(), kRows, kInner, kColumns);
  EXPECT_EQ(c, expected);  // to the last bit
  std::vector<float> turned(a.size());
  for (int i = 0; i < kRows; ++i)
    for (int k = 0; k < kInner; ++k) turned[k * kRows + i] = a[i * kInner + k];
  c.assign(c.size(), 1);
  multiply_add(turned.data(), 1, kRows, w.data(), c.data(), kRows, kInner, kColumns);
  EXPECT_EQ(c, expected);
}

}  // namespace
}  // namespace afore::predict
