#include "kernels/gate.h"

#include <limits>

#include "kernels/block.cuh"
#include "kernels/exact_exp.h"

// One warp chooses for one token. Lane l alone reads and writes the scores of experts l, l + 32, …, but for the scores
// of groups, so that the rounds of a choice need no barrier: a round is one reduction over each lane's best, and only
// the lane that lost its best looks for another. No product feeds a sum, so nothing can be contracted.
namespace afore::kernels {
namespace {

constexpr int kWarps = 4;
constexpr float kOut = -std::numeric_limits<float>::infinity();  // of what does not compete, or not any more
constexpr float kLowest = std::numeric_limits<float>::lowest();

// What competes is above minus infinity, even if it is not a number: a gate chooses different experts in any case.
__device__ float competing(float x) { return x > kLowest ? x : kLowest; }

__device__ bool is_finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }

struct Best {
  float value;
  int at;
};

// 0 when none competes.
__device__ Best best_of_lane(const float* values, int count, int lane) {
  Best best{kOut, 0};
  for (int i = lane; i < count; i += kWarpLanes)
    if (values[i] > best.value) best = {values[i], i};
  return best;
}

__device__ Best best_of_warp(Best best) {
  for (int half = kWarpLanes / 2; half > 0; half /= 2) {
    const float value = __shfl_xor_sync(kAllLanes, best.value, half);
    const int at = __shfl_xor_sync(kAllLanes, best.at, half);
    if (value > best.value || (value == best.value && at < best.at)) best = {value, at};
  }
  return best;
}

// Calls chosen(round, index) in every lane and takes the index out of `values`.
template <class Chosen>
__device__ void choose(float* values, int count, int rounds, int lane, const Chosen& chosen) {
  Best mine = best_of_lane(values, count, lane);
  for (int round = 0; round < rounds; ++round) {
    const int best = best_of_warp(mine).at;
    chosen(round, best);
    if (best % kWarpLanes == lane) {
      values[best] = kOut;
      mine = best_of_lane(values, count, lane);
    }
  }
}

__device__ void score_all(const GateRule& rule, const float* logits, float* score, int lane) {
  if (rule.sigmoid) {
    for (int e = lane; e < rule.experts; e += kWarpLanes) score[e] = 1.0f / (1.0f + exact_exp(-logits[e]));
    return;
  }
  float most = kOut;
  for (int e = lane; e < rule.experts; e += kWarpLanes) most = logits[e] > most ? logits[e] : most;
  most = lanes_max(most);
  float sum = 0;
  for (int e = lane; e < rule.experts; e += kWarpLanes) {
    score[e] = exact_exp(logits[e] - most);
    sum += score[e];
  }
  sum = lanes_sum(sum);
  for (int e = lane; e < rule.experts; e += kWarpLanes) score[e] /= sum;
}

// A group counts as much as its two best experts together. `start`: where to begin, so that lanes, which have a group
// each, read different banks.
__device__ float group_score(const float* choice, int size, int start) {
  float first = kOut, second = first;
  for (int i = 0, at = start % size; i < size; ++i, at = at + 1 == size ? 0 : at + 1) {
    const float c = choice[at];
    if (c > first) {
      second = first;
      first = c;
    } else if (c > second) {
      second = c;
    }
  }
  return competing(size == 1 ? first : first + second);
}

// Leaves only the experts of the best groups in `choice`. group: [groups]
__device__ void keep_best_groups(const GateRule& rule, float* choice, float* group, int lane) {
  const int size = rule.experts / rule.groups;
  __syncwarp();  // the choices of other lanes
  for (int g = lane; g < rule.groups; g += kWarpLanes) group[g] = group_score(choice + g * size, size, lane);
  choose(group, rule.groups, rule.top_groups, lane, [](int, int) {});
  __syncwarp();  // the groups of other lanes, which are out when they are chosen
  for (int e = lane; e < rule.experts; e += kWarpLanes)
    if (group[e / size] != kOut) choice[e] = kOut;
}

__global__ __launch_bounds__(kWarps* kWarpLanes) void gate_kernel(GateRule rule, const float* logits, const float* bias,
                                                                  std::int32_t tokens, std::int32_t* ids,
                                                                  float* weights, std::int32_t* not_finite) {
  AFORE_DYNAMIC_SHARED(float, shared);
  const int lane = threadIdx.x % kWarpLanes, warp = threadIdx.x / kWarpLanes;
  const std::int64_t token = std::int64_t{blockIdx.x} * kWarps + warp;
  if (token >= tokens) return;
  logits += token * rule.experts;
  float* score = shared + warp * (2 * rule.experts + rule.groups);
  float* choice = score + rule.experts;

  for (int e = lane; e < rule.experts; e += kWarpLanes)
    if (!is_finite(logits[e])) *not_finite = 1;
  score_all(rule, logits, score, lane);
  for (int e = lane; e < rule.experts; e += kWarpLanes)
    choice[e] = competing(bias == nullptr ? score[e] : score[e] + bias[e]);
  if (rule.groups > 1) keep_best_groups(rule, choice, choice + rule.experts, lane);

  float sum = 0, weight = 0;  // the weight of this lane's round
  int id = 0;
  choose(choice, rule.experts, rule.top_k, lane, [&](int round, int best) {
    const int owner = best % kWarpLanes;
    const float chosen = __shfl_sync(kAllLanes, owner == lane ? score[best] : 0.0f, owner);
    sum += chosen;
    if (round == lane) {
      weight = chosen;
      id = best;
    }
  });
  if (rule.normalize) weight /= rule.sigmoid ? sum + 1e-20f : sum;
  if (lane < rule.top_k) {
    ids[token * rule.top_k + lane] = id;
    weights[token * rule.top_k + lane] = weight * rule.scaling;
  }
}

}  // namespace

void gate(const GateRule& rule, const float* logits, const float* bias, std::int32_t tokens, std::int32_t* ids,
          float* weights, std::int32_t* not_finite, cudaStream_t stream) {
  if (tokens == 0) return;
  const std::size_t floats = std::size_t{kWarps} * static_cast<std::size_t>(2 * rule.experts + rule.groups);
  AFORE_LAUNCH(gate_kernel, dim3(divided_up(tokens, kWarps)), dim3(kWarps * kWarpLanes), floats * sizeof(float), stream,
               rule, logits, bias, tokens, ids, weights, not_finite);
}

}  // namespace afore::kernels
