#pragma once
// Whether the work of two windows of a stream is the same: which experts are popular, layer by layer.
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace afore::advice {

// Total variation distance of two layers' shares of tokens by expert, in [0, 1]; a mean over layers.
struct Shift {
  double between = 0;  // history and evaluation
  double within = 0;   // the two halves of either window, whichever differ more: drift and the luck of few tokens
  bool shifted = false;
};

// Halves are windows' halves in order: 0 and 1 of the history, 2 and 3 of the evaluation.
class ShiftMeter {
 public:
  void add(int half, int layer, std::span<const std::int64_t> counts);
  // Shifted: between > 2.5 * within and between > 0.05. Halves of a window hold half the tokens, so that sampling alone
  // makes them differ more than the windows do; a steady drift is 1 : 2. What is beyond that is a change of workload.
  // Up to 0.05, one token in twenty, no placement notices.
  Shift measure() const;

 private:
  struct Layer {
    std::vector<double> halves[4];
  };
  std::map<int, Layer> layers_;
};

}  // namespace afore::advice
