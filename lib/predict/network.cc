#include "predict/network.h"

#include <algorithm>

namespace afore::predict {

Network make_network(const NetworkShape& shape) {
  Network network;
  network.shape = shape;
  network.input.assign(shape.input_values(), 0);
  network.bias.assign(static_cast<std::size_t>(shape.columns()), 0);
  network.output.assign(shape.output_values(), 0);
  return network;
}

void forward(const Network& network, const Inputs& inputs, Activations& out) {
  const NetworkShape& shape = network.shape;
  const int columns = shape.columns(), score_columns = shape.score_columns();
  out.z.resize(static_cast<std::size_t>(inputs.tokens) * columns);
  out.scores.resize(static_cast<std::size_t>(inputs.tokens) * score_columns);
  const float* rows = network.input.data() + static_cast<std::size_t>(shape.dense) * columns;
  for (int t = 0; t < inputs.tokens; ++t) {
    float* z = out.z.data() + static_cast<std::size_t>(t) * columns;
    std::copy(network.bias.begin(), network.bias.end(), z);
    for (int i = 0; i < inputs.on_per_token; ++i) {
      const std::int32_t row = inputs.on[static_cast<std::size_t>(t) * inputs.on_per_token + i];
      if (row != kOff) add_row(rows + static_cast<std::size_t>(row) * columns, z, columns);
    }
  }
  if (shape.dense > 0)
    multiply_add(inputs.dense.data(), static_cast<std::size_t>(shape.dense), 1, network.input.data(), out.z.data(),
                 inputs.tokens, shape.dense, columns);
  for (int t = 0; t < inputs.tokens; ++t) {
    float* z = out.z.data() + static_cast<std::size_t>(t) * columns;
    for (int h = 0; h < shape.hidden; ++h) z[h] = std::max(z[h], 0.0F);
    std::copy(z + shape.hidden, z + columns, out.scores.data() + static_cast<std::size_t>(t) * score_columns);
  }
  multiply_add(out.z.data(), static_cast<std::size_t>(columns), 1, network.output.data(), out.scores.data(),
               inputs.tokens, shape.hidden, score_columns);
}

namespace {

// scratch = the loss's gradient by z.
void gradient_of_z(const Network& network, int tokens, const Activations& of, const std::vector<float>& d_scores,
                   std::vector<float>& scratch) {
  const NetworkShape& shape = network.shape;
  const int columns = shape.columns(), score_columns = shape.score_columns();
  scratch.assign(static_cast<std::size_t>(tokens) * columns, 0);
  for (int t = 0; t < tokens; ++t) {
    const float* d = d_scores.data() + static_cast<std::size_t>(t) * score_columns;
    const float* z = of.z.data() + static_cast<std::size_t>(t) * columns;
    float* dz = scratch.data() + static_cast<std::size_t>(t) * columns;
    for (int h = 0; h < shape.hidden; ++h) {
      if (z[h] <= 0) continue;
      const float* weights = network.output.data() + static_cast<std::size_t>(h) * score_columns;
      float partial[kLanes] = {};  // summed by lanes, so that the order does not depend on the instruction set
      for (int n = 0; n < score_columns; n += kLanes)
        for (int i = 0; i < kLanes; ++i) partial[i] += d[n + i] * weights[n + i];
      float sum = 0;
      for (const float part : partial) sum += part;
      dz[h] = sum;
    }
    std::copy(d, d + score_columns, dz + shape.hidden);
  }
}

}  // namespace

void backward(const Network& network, const Inputs& inputs, const Activations& of, const std::vector<float>& d_scores,
              Network& gradient, std::vector<float>& scratch) {
  const NetworkShape& shape = network.shape;
  const int columns = shape.columns(), score_columns = shape.score_columns();
  gradient_of_z(network, inputs.tokens, of, d_scores, scratch);
  // By the output weights: rows of the result are hidden units, summed over tokens.
  multiply_add(of.z.data(), 1, static_cast<std::size_t>(columns), d_scores.data(), gradient.output.data(), shape.hidden,
               inputs.tokens, score_columns);
  if (shape.dense > 0)
    multiply_add(inputs.dense.data(), 1, static_cast<std::size_t>(shape.dense), scratch.data(), gradient.input.data(),
                 shape.dense, inputs.tokens, columns);
  float* rows = gradient.input.data() + static_cast<std::size_t>(shape.dense) * columns;
  for (int t = 0; t < inputs.tokens; ++t) {
    const float* dz = scratch.data() + static_cast<std::size_t>(t) * columns;
    add_row(dz, gradient.bias.data(), columns);
    for (int i = 0; i < inputs.on_per_token; ++i) {
      const std::int32_t row = inputs.on[static_cast<std::size_t>(t) * inputs.on_per_token + i];
      if (row != kOff) add_row(dz, rows + static_cast<std::size_t>(row) * columns, columns);
    }
  }
}

}  // namespace afore::predict
