#include "kernels/gate.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/exact_exp.h"

namespace afore::kernels::twin {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();  // of what does not compete, or not any more

float competing(float x) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  return x > kLowest ? x : kLowest;
}

// The first of the largest; 0 when none competes.
std::int32_t first_largest(const float* values, std::int32_t count) {
  float most = kOut;
  std::int32_t at = 0;
  for (std::int32_t i = 0; i < count; ++i)
    if (values[i] > most) {
      most = values[i];
      at = i;
    }
  return at;
}

// Terms 32 apart, then halves of those 32 sums: the order of a warp.
float sum_of(const std::vector<float>& terms) {
  float sums[32] = {};
  for (std::size_t i = 0; i < terms.size(); ++i) sums[i % 32] += terms[i];
  for (int half = 16; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}

std::vector<float> scores_of(const GateRule& rule, const float* logits) {
  std::vector<float> score(static_cast<std::size_t>(rule.experts));
  if (rule.sigmoid) {
    for (std::size_t e = 0; e < score.size(); ++e) score[e] = 1.0f / (1.0f + exact_exp(-logits[e]));
    return score;
  }
  float most = kOut;
  for (std::size_t e = 0; e < score.size(); ++e)
    if (logits[e] > most) most = logits[e];
  for (std::size_t e = 0; e < score.size(); ++e) score[e] = exact_exp(logits[e] - most);
  const float sum = sum_of(score);
  for (float& s : score) s /= sum;
  return score;
}

float group_score(const float* choice, std::int32_t size) {
  float first = kOut, second = kOut;
  for (std::int32_t i = 0; i < size; ++i) {
    if (choice[i] > first) {
      second = first;
      first = choice[i];
    } else if (choice[i] > second) {
      second = choice[i];
    }
  }
  return competing(size == 1 ? first : first + second);
}

void keep_best_groups(const GateRule& rule, std::vector<float>& choice) {
  const std::int32_t size = rule.experts / rule.groups;
  std::vector<float> score;
  for (std::int32_t g = 0; g < rule.groups; ++g) score.push_back(group_score(choice.data() + g * size, size));
  std::vector<bool> kept(score.size());
  for (std::int32_t i = 0; i < rule.top_groups; ++i) {
    const std::int32_t best = first_largest(score.data(), rule.groups);
    kept[static_cast<std::size_t>(best)] = true;
    score[static_cast<std::size_t>(best)] = kOut;
  }
  for (std::size_t e = 0; e < choice.size(); ++e)
    if (!kept[e / static_cast<std::size_t>(size)]) choice[e] = kOut;
}

void gate_token(const GateRule& rule, const float* logits, const float* bias, std::int32_t* ids, float* weights) {
  const std::vector<float> score = scores_of(rule, logits);
  std::vector<float> choice;
  for (std::size_t e = 0; e < score.size(); ++e)
    choice.push_back(competing(bias == nullptr ? score[e] : score[e] + bias[e]));
  if (rule.groups > 1) keep_best_groups(rule, choice);
  float sum = 0;
  for (std::int32_t k = 0; k < rule.top_k; ++k) {
    ids[k] = first_largest(choice.data(), rule.experts);
    weights[k] = score[static_cast<std::size_t>(ids[k])];
    sum += weights[k];
    choice[static_cast<std::size_t>(ids[k])] = kOut;
  }
  if (rule.sigmoid) sum += 1e-20f;
  for (std::int32_t k = 0; k < rule.top_k; ++k) {
    if (rule.normalize) weights[k] /= sum;
    weights[k] *= rule.scaling;
  }
}

}  // namespace

void gate(const GateRule& rule, const float* logits, const float* bias, std::int32_t tokens, std::int32_t* ids,
          float* weights, std::int32_t* not_finite) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int32_t e = 0; e < rule.experts; ++e)
      if (!std::isfinite(logits[t * rule.experts + e])) *not_finite = 1;
    gate_token(rule, logits + t * rule.experts, bias, ids + t * rule.top_k, weights + t * rule.top_k);
  }
}

}  // namespace afore::kernels::twin
