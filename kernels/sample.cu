// Choosing the next token, one block a row. Weights are worked out again wherever they are needed: that costs less than
// a buffer of them. Sums are of integers, so the order of threads is nothing to them.
#include "kernels/sample.h"

#include "kernels/exact_exp.h"
#include "kernels/reduce.cuh"

namespace afore::kernels {
namespace {

using Sum = unsigned long long;

constexpr int kThreads = 512, kWarps = kThreads / kWarpLanes;
// A weight has 33 bits, and top_p's last one is found from 11 of them at a time, the upper ones first.
constexpr int kDigitBits = 11, kDigits = 1 << kDigitBits, kPasses = 3;
constexpr int kDigitsPerThread = kDigits / kThreads;

struct Row {
  const float* logits;
  std::int32_t vocab;
  float most, temperature;

  __device__ Sum weight(int id) const {
    return static_cast<Sum>(exact_exp((logits[id] - most) / temperature) * 0x1p32f);
  }
};

// What top_p keeps: weights above `last`, and of those that are `last` the first `ties`.
struct Kept {
  Sum last, ties, total;
};

struct Shared {
  float most[kWarps];
  std::int32_t id[kWarps];
  bool not_finite[kWarps];
  Sum of_warp[kWarps], larger_of_warp[kWarps], ties_of_warp[kWarps];
  Sum of_digit[kDigits];
  Sum above, prefix;  // of top_p's search: the sum of larger weights, the bits that are known
};

__device__ __forceinline__ Sum lanes_total(Sum value) {
  for (int offset = kWarpLanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}
// The sum over this lane and those before it.
__device__ __forceinline__ Sum lanes_up_to(Sum value) {
  const int lane = threadIdx.x % kWarpLanes;
  for (int offset = 1; offset < kWarpLanes; offset *= 2) {
    const Sum before = __shfl_up_sync(kAllLanes, value, offset);
    if (lane >= offset) value += before;
  }
  return value;
}
// floor(part * total), exactly: part in [0, 1) in steps of 2^-64.
__device__ __forceinline__ Sum share_of(float part, Sum total, bool up) {
  const unsigned __int128 product = static_cast<unsigned __int128>(static_cast<Sum>(part * 0x1p64f)) * total;
  return static_cast<Sum>((product + (up ? ~Sum{0} : 0)) >> 64);
}

struct Largest {
  float logit;
  std::int32_t id;
  bool finite;  // all logits

  // Of equal logits the lowest id.
  __device__ void take(float other, std::int32_t other_id) {
    if (other < logit || (other == logit && other_id >= id)) return;
    logit = other;
    id = other_id;
  }
};

__device__ Largest find_largest(const float* logits, std::int32_t vocab, Shared& shared) {
  const int warp = threadIdx.x / kWarpLanes, lane = threadIdx.x % kWarpLanes;
  Largest largest{-INFINITY, vocab, true};
  for (int i = threadIdx.x; i < vocab; i += kThreads) {
    largest.take(logits[i], i);
    if (!(fabsf(logits[i]) < INFINITY)) largest.finite = false;
  }
  for (int offset = kWarpLanes / 2; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, largest.logit, offset);
    largest.take(other, __shfl_xor_sync(kAllLanes, largest.id, offset));
  }
  const bool not_finite = __ballot_sync(kAllLanes, !largest.finite) != 0;
  if (lane == 0) {
    shared.most[warp] = largest.logit;
    shared.id[warp] = largest.id;
    shared.not_finite[warp] = not_finite;
  }
  __syncthreads();
  for (int w = 0; w < kWarps; ++w) {
    largest.take(shared.most[w], shared.id[w]);
    if (shared.not_finite[w]) largest.finite = false;
  }
  return largest;
}

__device__ Sum total_weight(const Row& row, Shared& shared) {
  Sum sum = 0;
  for (int i = threadIdx.x; i < row.vocab; i += kThreads) sum += row.weight(i);
  sum = lanes_total(sum);
  if (threadIdx.x % kWarpLanes == 0) shared.of_warp[threadIdx.x / kWarpLanes] = sum;
  __syncthreads();
  Sum total = 0;
  for (int w = 0; w < kWarps; ++w) total += shared.of_warp[w];
  return total;
}

// Of the digits of weights whose upper bits are known, the one at which the sum from the largest down reaches `wanted`.
// Thread t has digits in descending order from its own, so that a scan over threads goes down.
__device__ void find_digit(Shared& shared, Sum above, Sum wanted, Sum prefix) {
  const int warp = threadIdx.x / kWarpLanes, lane = threadIdx.x % kWarpLanes;
  const int largest = kDigits - 1 - threadIdx.x * kDigitsPerThread;
  Sum own = 0;
  for (int j = 0; j < kDigitsPerThread; ++j) own += shared.of_digit[largest - j];
  const Sum up_to = lanes_up_to(own);
  if (lane == kWarpLanes - 1) shared.of_warp[warp] = up_to;
  __syncthreads();
  Sum sum = above + up_to - own;
  for (int w = 0; w < warp; ++w) sum += shared.of_warp[w];
  if (sum >= wanted || sum + own < wanted) return;
  int digit = largest;
  while (sum + shared.of_digit[digit] < wanted) sum += shared.of_digit[digit--];
  shared.above = sum;
  shared.prefix = prefix << kDigitBits | static_cast<Sum>(digit);
}

__device__ Kept keep_likeliest(const Row& row, Shared& shared, float top_p, Sum total) {
  if (!(top_p < 1)) return {0, 0, total};
  const Sum share = top_p > 0 ? share_of(top_p, total, true) : 0, wanted = share > 0 ? share : 1;
  Sum above = 0, prefix = 0;
  for (int shift = (kPasses - 1) * kDigitBits; shift >= 0; shift -= kDigitBits) {
    for (int digit = threadIdx.x; digit < kDigits; digit += kThreads) shared.of_digit[digit] = 0;
    __syncthreads();
    Sum lowest = 0;  // of digit 0, which most tokens have: atomics on one word come one after the other
    for (int i = threadIdx.x; i < row.vocab; i += kThreads) {
      const Sum weight = row.weight(i);
      if (weight == 0 || weight >> shift >> kDigitBits != prefix) continue;
      const Sum digit = weight >> shift & (kDigits - 1);
      if (digit == 0) lowest += weight;
      else atomicAdd(&shared.of_digit[digit], weight);
    }
    lowest = lanes_total(lowest);
    if (threadIdx.x % kWarpLanes == 0 && lowest != 0) atomicAdd(&shared.of_digit[0], lowest);
    __syncthreads();
    find_digit(shared, above, wanted, prefix);
    __syncthreads();
    above = shared.above;
    prefix = shared.prefix;
  }
  const Sum ties = (wanted - above + prefix - 1) / prefix;
  return {prefix, ties, above + ties * prefix};
}

// The first id at which the sum of what is kept exceeds `draw`. Each warp has a stretch of ids.
__device__ void pick(const Row& row, Shared& shared, const Kept& kept, Sum draw, std::int32_t* token) {
  const int warp = threadIdx.x / kWarpLanes, lane = threadIdx.x % kWarpLanes;
  const int stretch = (row.vocab + kThreads - 1) / kThreads * kWarpLanes;
  const int begin = warp * stretch, end = begin + stretch;
  const auto weight_of = [&](int id) { return id < row.vocab ? row.weight(id) : 0; };
  Sum larger = 0, ties = 0;
  for (int i = begin + lane; i < end; i += kWarpLanes) {
    const Sum weight = weight_of(i);
    larger += weight > kept.last ? weight : 0;
    ties += weight == kept.last;
  }
  larger = lanes_total(larger);
  ties = lanes_total(ties);
  if (lane == 0) {
    shared.larger_of_warp[warp] = larger;
    shared.ties_of_warp[warp] = ties;
  }
  __syncthreads();
  const auto sum_of = [&](Sum of_larger, Sum of_ties) {
    return of_larger + kept.last * (of_ties < kept.ties ? of_ties : kept.ties);
  };
  Sum larger_before = 0, ties_before = 0;
  for (int w = 0; w < warp; ++w) {
    larger_before += shared.larger_of_warp[w];
    ties_before += shared.ties_of_warp[w];
  }
  if (sum_of(larger_before, ties_before) > draw || sum_of(larger_before + larger, ties_before + ties) <= draw) return;
  for (int i = begin + lane;; i += kWarpLanes) {
    const Sum weight = weight_of(i);
    const Sum larger_here = larger_before + lanes_up_to(weight > kept.last ? weight : 0);
    const Sum ties_here = ties_before + lanes_up_to(weight == kept.last);
    const unsigned over = __ballot_sync(kAllLanes, sum_of(larger_here, ties_here) > draw);
    if (over != 0) {
      if (lane == __ffs(static_cast<int>(over)) - 1) *token = i;
      return;
    }
    larger_before = __shfl_sync(kAllLanes, larger_here, kWarpLanes - 1);
    ties_before = __shfl_sync(kAllLanes, ties_here, kWarpLanes - 1);
  }
}

__global__ void sample_kernel(const float* logits, const SampleRow* options, std::int32_t vocab, std::int32_t* tokens,
                              std::int32_t* not_finite) {
  __shared__ Shared shared;
  const SampleRow option = options[blockIdx.x];
  logits += std::int64_t{blockIdx.x} * vocab;
  const Largest largest = find_largest(logits, vocab, shared);
  if (!largest.finite || !(option.temperature > 0)) {
    if (threadIdx.x != 0) return;
    tokens[blockIdx.x] = largest.finite ? largest.id : 0;
    if (!largest.finite) *not_finite = 1;
    return;
  }
  const Row row{logits, vocab, largest.logit, option.temperature};
  const Sum total = total_weight(row, shared);
  const Kept kept = keep_likeliest(row, shared, option.top_p, total);
  pick(row, shared, kept, share_of(option.uniform, kept.total, false), tokens + blockIdx.x);
}

}  // namespace

void sample(const float* logits, const SampleRow* options, std::int32_t rows, std::int32_t vocab, std::int32_t* tokens,
            std::int32_t* not_finite, cudaStream_t stream) {
  if (rows == 0) return;
  AFORE_LAUNCH(sample_kernel, dim3(rows), dim3(kThreads), 0, stream, logits, options, vocab, tokens, not_finite);
}

}  // namespace afore::kernels
