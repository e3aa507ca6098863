#pragma once
// Adam (Kingma, Ba 2015) with weight decay apart from the gradient (Loshchilov, Hutter 2019).
#include <cstdint>

#include "predict/network.h"

namespace afore::predict {

struct AdamOptions {
  float rate = 1e-3F;
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;
  float weight_decay = 0;  // per step and unit of rate; not of biases
};

class Adam {
 public:
  Adam(const NetworkShape& shape, const AdamOptions& options);
  // One step along `gradient`, with the rate times `scale`.
  void step(const Network& gradient, float scale, Network& network);

 private:
  void update(const std::vector<float>& gradient, float scale, float weight_decay, std::vector<float>& mean,
              std::vector<float>& square, std::vector<float>& values) const;

  AdamOptions options_;
  Network mean_, square_;
  double power1_ = 1, power2_ = 1;  // of the betas, by the steps so far
};

}  // namespace afore::predict
