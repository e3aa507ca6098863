#include "predict/counts.h"

#include <algorithm>
#include <cmath>

namespace afore::predict {

ExpectedCounts::ExpectedCounts(int experts, int top_k)
    : top_k_(top_k),
      sums_(static_cast<std::size_t>(experts)),
      chances_(static_cast<std::size_t>(experts)),
      order_(static_cast<std::size_t>(experts)) {}

void ExpectedCounts::clear() {
  tokens_ = 0;
  std::fill(sums_.begin(), sums_.end(), 0.0);
}

void ExpectedCounts::add(std::span<const float> scores) {
  constexpr float kLeast = 1e-6F;  // from 0 and from 1, so that there is something to scale
  for (std::size_t e = 0; e < chances_.size(); ++e) chances_[e] = std::clamp(chance(scores[e]), kLeast, 1 - kLeast);
  // What scaling lifts to 1 stays there, and the others share what is left; each round may find more of them.
  double left = top_k_, scale = 0;
  for (bool lifted = true; lifted;) {
    double rest = 0;
    for (const float c : chances_)
      if (c < 1) rest += c;
    scale = rest > 0 ? left / rest : 0;
    lifted = false;
    for (float& c : chances_) {
      if (c == 1 || c * scale < 1) continue;
      c = 1;
      --left;
      lifted = true;
    }
  }
  for (std::size_t e = 0; e < chances_.size(); ++e) sums_[e] += chances_[e] < 1 ? chances_[e] * scale : 1;
  ++tokens_;
}

void ExpectedCounts::round(std::vector<std::int64_t>& counts) {
  counts.resize(sums_.size());
  std::int64_t left = tokens_ * top_k_;
  for (std::size_t e = 0; e < sums_.size(); ++e) {
    counts[e] = std::min(tokens_, static_cast<std::int64_t>(std::floor(sums_[e])));
    left -= counts[e];
    order_[e] = static_cast<int>(e);
  }
  const auto remainder = [&](int e) { return sums_[e] - static_cast<double>(counts[e]); };
  std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return remainder(a) > remainder(b); });
  for (std::size_t i = 0; left > 0; i = (i + 1) % order_.size(), --left) ++counts[order_[i]];
  for (std::size_t i = order_.size(); left < 0;) {  // sums a hair above the whole
    i = i == 0 ? order_.size() - 1 : i - 1;
    if (counts[order_[i]] > 0) {
      --counts[order_[i]];
      ++left;
    }
  }
}

void best_experts(std::span<const float> scores, std::span<std::uint16_t> best) {
  std::size_t held = 0;
  for (std::size_t e = 0; e < scores.size(); ++e) {
    if (held == best.size() && !(scores[e] > scores[best[held - 1]])) continue;
    std::size_t at = held < best.size() ? held++ : held - 1;
    for (; at > 0 && scores[e] > scores[best[at - 1]]; --at) best[at] = best[at - 1];
    best[at] = static_cast<std::uint16_t>(e);
  }
}

}  // namespace afore::predict
