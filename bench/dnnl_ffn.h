#pragma once
// The same expert FFN by oneDNN, as a measure: three matmuls with weights in the layout that it chooses itself, and a
// plain loop for silu(gate) * up between them. One thread, if OMP_NUM_THREADS says so.
#include <cstdint>
#include <memory>

namespace afore::bench {

class DnnlFfn {
 public:
  // Weights and activations in bf16, or both in float32; results float32.
  DnnlFfn(std::int64_t hidden, std::int64_t intermediate, int experts, bool bf16, bool small_pages);
  ~DnnlFfn();
  // Every expert with `rows` rows of inputs made up once.
  void run(std::int64_t rows);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore::bench
