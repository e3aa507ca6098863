#pragma once
// From scores to how often each expert is expected to be taken.
#include <cstdint>
#include <span>
#include <vector>

namespace afore::predict {

// The chance of "taken" by one score: 1 / (1 + e^-score).
float chance(float score);

// Adds one token's chances to `sums`: those of its scores, scaled until they sum to top_k with none above 1.
class ExpectedCounts {
 public:
  ExpectedCounts(int experts, int top_k);
  void clear();
  void add(std::span<const float> scores);
  // Whole numbers that sum to top_k times the tokens added: rounded down, and what is left goes to the largest
  // remainders, of equal ones to the lower index.
  void round(std::vector<std::int64_t>& counts);
  const std::vector<double>& sums() const { return sums_; }

 private:
  int top_k_;
  std::int64_t tokens_ = 0;
  std::vector<double> sums_;
  std::vector<float> chances_;
  std::vector<int> order_;
};

// The ids of the top_k best scores, of equal ones the lower index, best first, into `best`, which has room for them.
void best_experts(std::span<const float> scores, std::span<std::uint16_t> best);

}  // namespace afore::predict
