#include "device/cpu/gate.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "device/cpu/exp.h"
#include "device/cpu/largest.h"
#include "util/error.h"
#include "util/scratch.h"

namespace afore::device::cpu {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();  // of what does not compete, or not any more

// What competes is above kOut, even if it is not a number: a gate chooses different experts in any case.
float competing(float x) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  return x > kLowest ? x : kLowest;
}

struct Scores {
  std::vector<float> score, choice, group;
  std::vector<char> kept;
};

// to = of(from), four at a time.
template <class Of>
void for_each_four(std::span<const float> from, std::span<float> to, const Of& of) {
  std::size_t i = 0;
  for (; i + 4 <= from.size(); i += 4) {
    Four four;
    std::memcpy(&four, &from[i], sizeof(four));
    four = of(four);
    std::memcpy(&to[i], &four, sizeof(four));
  }
  for (; i < from.size(); ++i) to[i] = of(Four{from[i], from[i], from[i], from[i]})[0];
}

void score_all(const nn::GateConfig& config, std::span<const float> logits, std::span<float> score) {
  if (config.rule == nn::GateConfig::Rule::sigmoid_bias) {
    for_each_four(logits, score, [](Four x) { return 1.0f / (1.0f + exp_f32(-x)); });
    return;
  }
  const float most = largest_of(logits);
  float sum = 0;
  for_each_four(logits, score, [most](Four x) { return exp_f32(x - most); });
  for (const float s : score) sum += s;
  for (float& s : score) s /= sum;
}

// A group counts as much as its two best experts together.
float group_score(std::span<const float> choice) {
  float first = kOut, second = kOut;
  for (const float c : choice) {
    if (c > first) {
      second = first;
      first = c;
    } else if (c > second) {
      second = c;
    }
  }
  return competing(choice.size() == 1 ? first : first + second);
}

// Leaves only the experts of the best groups in `choice`.
void keep_best_groups(const nn::GateConfig& config, Scores& s) {
  const auto groups = static_cast<std::size_t>(config.groups);
  const std::size_t size = s.choice.size() / groups;
  const auto of_group = [&](std::size_t g) { return std::span(s.choice).subspan(g * size, size); };
  s.group.resize(groups);
  for (std::size_t g = 0; g < groups; ++g) s.group[g] = group_score(of_group(g));
  s.kept.assign(groups, 0);
  for (int i = 0; i < config.top_groups; ++i) {
    const std::size_t best = first_largest(s.group);
    s.kept[best] = 1;
    s.group[best] = kOut;
  }
  for (std::size_t g = 0; g < groups; ++g)
    if (!s.kept[g]) std::ranges::fill(of_group(g), kOut);
}

// Floats that stay in registers while their sum is made.
constexpr std::int64_t kStrip = 16;

inline void combine_strip(std::span<const float> weights, const float* y, std::int64_t n, const float* shared,
                          const float* residual, float* out, std::int64_t at, std::int64_t width) {
  float sum[kStrip] = {};
  const float* row = y + at;
  for (std::size_t k = 0; k < weights.size(); ++k, row += n)
    for (std::int64_t i = 0; i < width; ++i) sum[i] += weights[k] * row[i];
  for (std::int64_t i = 0; i < width; ++i) {
    const float total = residual[at + i] + sum[i];
    out[at + i] = shared == nullptr ? total : total + shared[at + i];
  }
}

}  // namespace

void gate_token(const nn::GateConfig& config, std::span<const float> logits, std::span<const float> bias,
                std::span<std::int32_t> ids, std::span<float> weights) {
  const auto experts = static_cast<std::size_t>(config.experts), top_k = static_cast<std::size_t>(config.top_k);
  AFORE_CHECK(logits.size() == experts && (bias.empty() || bias.size() == experts), "logits of another gate");
  AFORE_CHECK(ids.size() == top_k && weights.size() == top_k && top_k <= experts, "a choice of another size");
  Scores& s = scratch<Scores, struct GateScores>();
  s.score.resize(experts);
  score_all(config, logits, s.score);
  s.choice.resize(experts);
  for (std::size_t e = 0; e < experts; ++e) s.choice[e] = competing(bias.empty() ? s.score[e] : s.score[e] + bias[e]);
  if (config.groups > 1) keep_best_groups(config, s);
  float sum = 0;
  for (std::size_t k = 0; k < top_k; ++k) {
    const std::size_t best = first_largest(s.choice);
    ids[k] = static_cast<std::int32_t>(best);
    weights[k] = s.score[best];
    sum += weights[k];
    s.choice[best] = kOut;
  }
  if (config.normalize) {
    if (config.rule == nn::GateConfig::Rule::sigmoid_bias) sum += 1e-20f;
    for (float& w : weights) w /= sum;
  }
  for (float& w : weights) w *= config.scaling;
}

void combine_exact(std::span<const float> weights, const float* y, const float* shared, const float* residual,
                   float* out, std::int64_t n) {
  std::int64_t at = 0;
  for (; at + kStrip <= n; at += kStrip) combine_strip(weights, y, n, shared, residual, out, at, kStrip);
  combine_strip(weights, y, n, shared, residual, out, at, n - at);
}

}  // namespace afore::device::cpu
