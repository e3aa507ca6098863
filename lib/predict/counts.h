#pragma once
// From scores to how often each expert is expected to be taken.
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace afore::predict {

// The chance of "taken" by one score: 1 / (1 + e^-score), within 1e-6 of it. In place of a C library's exp, whose bits
// differ, and short enough to be done for several scores at once.
inline float chance(float score) {
  constexpr float kLog2E = 1.44269504F;
  const float t = score * -kLog2E;
  const float within = !(t > -126) ? -126 : t < 126 ? t : 126;  // of what is no number, too
  const int whole = static_cast<int>(within + 128.5F) - 128;    // the nearest, so that the series of 2^f is short
  const float f = within - static_cast<float>(whole);
  const float power =
      1 +
      f * (0.693147181F +
           f * (0.240226507F + f * (0.0555041087F + f * (0.00961812911F + f * (0.00133335581F + f * 1.5403530e-4F)))));
  return 1 / (1 + power * std::bit_cast<float>((whole + 127) << 23));
}

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
