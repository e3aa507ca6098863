#pragma once
// One layer's network: a hidden layer of rectified units beside a linear path, from the features of a token to a score
// per expert. Inputs are dense values and, for the experts of other layers and tokens, rows that are on.
//
//   z = bias + sum of dense[i] * input[i] + sum of input[j] over the rows j that are on     [hidden + experts]
//   scores = z[hidden ...] + max(0, z[0 ... hidden)) * output
#include <cstdint>
#include <span>
#include <vector>

#include "predict/matrix.h"

namespace afore::predict {

struct NetworkShape {
  int dense = 0, rows = 0;  // inputs: first the dense ones
  int hidden = 0;           // a multiple of kLanes
  int experts = 0;

  int inputs() const { return dense + rows; }
  int score_columns() const { return padded(experts); }
  int columns() const { return hidden + score_columns(); }
  std::size_t input_values() const { return static_cast<std::size_t>(inputs()) * columns(); }
  std::size_t output_values() const { return static_cast<std::size_t>(hidden) * score_columns(); }
};

// Columns beyond `experts` are padding: zeros that no score is read from.
struct Network {
  NetworkShape shape;
  std::vector<float> input;   // [inputs][columns]
  std::vector<float> bias;    // [columns]
  std::vector<float> output;  // [hidden][score_columns]
};

Network make_network(const NetworkShape& shape);  // of zeros

// Inputs of a few tokens, `on_per_token` rows each, kOff where one is not.
inline constexpr std::int32_t kOff = -1;
struct Inputs {
  int tokens = 0, dense_per_token = 0, on_per_token = 0;
  std::vector<float> dense;      // [tokens][dense_per_token]
  std::vector<std::int32_t> on;  // [tokens][on_per_token], counted from the network's first row

  void resize(int count) {
    tokens = count;
    dense.resize(static_cast<std::size_t>(count) * dense_per_token);
    on.resize(static_cast<std::size_t>(count) * on_per_token);
  }
  std::span<float> dense_of(int token) {
    return {dense.data() + static_cast<std::size_t>(token) * dense_per_token,
            static_cast<std::size_t>(dense_per_token)};
  }
  std::span<std::int32_t> on_of(int token) {
    return {on.data() + static_cast<std::size_t>(token) * on_per_token, static_cast<std::size_t>(on_per_token)};
  }
};

// What forward() leaves for backward(), [tokens][...].
struct Activations {
  std::vector<float> z;       // columns; its hidden part rectified
  std::vector<float> scores;  // score_columns
};

void forward(const Network& network, const Inputs& inputs, Activations& out);

// Adds the gradient of a loss to `gradient`, which has the network's shape; `d_scores` is the loss's by the
// scores.
void backward(const Network& network, const Inputs& inputs, const Activations& of, const std::vector<float>& d_scores,
              Network& gradient, std::vector<float>& scratch);

}  // namespace afore::predict
