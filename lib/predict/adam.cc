#include "predict/adam.h"

#include <cmath>

namespace afore::predict {

Adam::Adam(const NetworkShape& shape, const AdamOptions& options)
    : options_(options), mean_(make_network(shape)), square_(make_network(shape)) {}

void Adam::update(const std::vector<float>& gradient, float scale, float weight_decay, std::vector<float>& mean,
                  std::vector<float>& square, std::vector<float>& values) const {
  const float beta1 = options_.beta1, beta2 = options_.beta2, epsilon = options_.epsilon;
  const float rate = options_.rate * scale, kept = 1 - rate * weight_decay;
  const float of_mean = static_cast<float>(1 / (1 - power1_)), of_square = static_cast<float>(1 / (1 - power2_));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float g = gradient[i];
    mean[i] = beta1 * mean[i] + (1 - beta1) * g;
    square[i] = beta2 * square[i] + (1 - beta2) * g * g;
    values[i] = kept * values[i] - rate * (mean[i] * of_mean) / (std::sqrt(square[i] * of_square) + epsilon);
  }
}

void Adam::step(const Network& gradient, float scale, Network& network) {
  power1_ *= options_.beta1;
  power2_ *= options_.beta2;
  update(gradient.input, scale, options_.weight_decay, mean_.input, square_.input, network.input);
  update(gradient.bias, scale, 0, mean_.bias, square_.bias, network.bias);
  update(gradient.output, scale, options_.weight_decay, mean_.output, square_.output, network.output);
}

}  // namespace afore::predict
