#pragma once
// One MoE layer of a decode step on one attention and one FFN worker, as the device enqueues it: made-up weights, all
// experts resident.
#include <memory>

#include "bench/gpu/context.h"

namespace afore::bench::gpu {

class Layer {
 public:
  Layer(const Sizes& sizes, std::int32_t tokens, std::int32_t positions);
  ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  void enqueue();
  int launches() const { return kLaunches; }

 private:
  static constexpr int kLaunches = 18;  // attend_decode and list_work are two each
  struct Memory;

  void attention();
  void gate_and_sort();
  void experts();

  Sizes sizes_;
  std::int32_t tokens_, positions_, tile_tokens_ = 16;
  std::unique_ptr<Memory> m_;
};

}  // namespace afore::bench::gpu
