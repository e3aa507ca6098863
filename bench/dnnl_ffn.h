#pragma once
// The same expert FFN by oneDNN, as a measure: three matmuls with weights in the layout that it chooses itself, and a
// plain loop for silu(gate) * up between them. One thread, if OMP_NUM_THREADS says so.
#include <cstdint>
#include <memory>
#include <vector>

namespace afore::bench {

class DnnlFfn {
 public:
  // `experts` experts with weights of `value(i)`, i counting up, in bf16 (activations, too) or float32.
  DnnlFfn(std::int64_t hidden, std::int64_t intermediate, int experts, bool bf16);
  ~DnnlFfn();
  // Every expert with `rows` rows of inputs made up once.
  void run(std::int64_t rows);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore::bench
