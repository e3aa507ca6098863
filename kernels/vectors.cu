#include "kernels/vectors.h"

#include <cmath>

#include "kernels/bf16.h"
#include "kernels/reduce.cuh"

namespace afore::kernels {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarpLanes;
constexpr std::int64_t kMostBlocks = 1024;

// Elements go through threads in fours, moved at once where all fours are aligned. Which elements a thread has, and so
// the order of sums, is the same either way.
template <class T>
struct alignas(4 * sizeof(T)) Four {
  T of[4];
};

template <bool kAligned, class T>
__device__ __forceinline__ Four<T> load(const T* from, int count) {
  if constexpr (kAligned) return *reinterpret_cast<const Four<T>*>(from);
  Four<T> four{};
  for (int e = 0; e < 4; ++e)
    if (e < count) four.of[e] = from[e];
  return four;
}

template <bool kAligned, class T>
__device__ __forceinline__ void store(T* to, const Four<T>& four, int count) {
  if constexpr (kAligned) {
    *reinterpret_cast<Four<T>*>(to) = four;
  } else {
    for (int e = 0; e < 4; ++e)
      if (e < count) to[e] = four.of[e];
  }
}

template <class T>
bool aligned(const T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignof(Four<T>) == 0;
}

template <bool kAligned>
__global__ void embed_kernel(const std::uint16_t* table, const std::int32_t* ids, std::int32_t n, float* out) {
  const std::uint16_t* row = table + std::int64_t{ids[blockIdx.x]} * n;
  out += std::int64_t{blockIdx.x} * n;
  for (int i = 4 * threadIdx.x; i < n; i += 4 * kThreads) {
    const auto four = load<kAligned>(row + i, n - i);
    Four<float> wide;
    for (int e = 0; e < 4; ++e) wide.of[e] = float_of(four.of[e]);
    store<kAligned>(out + i, wide, n - i);
  }
}

template <bool kAligned>
__global__ void take_rows_kernel(const float* x, const std::int32_t* rows, std::int32_t n, float* out) {
  const float* row = x + std::int64_t{rows[blockIdx.x]} * n;
  out += std::int64_t{blockIdx.x} * n;
  for (int i = 4 * threadIdx.x; i < n; i += 4 * kThreads)
    store<kAligned>(out + i, load<kAligned>(row + i, n - i), n - i);
}

template <bool kAligned>
__global__ void add_kernel(float* residual, const float* delta, std::int64_t count) {
  const std::int64_t step = std::int64_t{4} * kThreads * gridDim.x;
  for (std::int64_t i = 4 * (std::int64_t{blockIdx.x} * kThreads + threadIdx.x); i < count; i += step) {
    const int left = count - i < 4 ? static_cast<int>(count - i) : 4;
    auto sum = load<kAligned>(residual + i, left);
    const auto more = load<kAligned>(delta + i, left);
    for (int e = 0; e < 4; ++e) sum.of[e] += more.of[e];
    store<kAligned>(residual + i, sum, left);
  }
}

// One block a row. With kAdd x is the residual, which becomes x + delta first: a thread reads again what it wrote.
template <bool kAdd, bool kAligned>
__global__ void rms_norm_kernel(const float* x, const float* delta, float* residual, const float* weight, float eps,
                                std::int32_t n, std::uint16_t* y) {
  __shared__ float sums[kWarps];
  const std::int64_t begin = std::int64_t{blockIdx.x} * n;
  x += begin;
  y += begin;
  float sum = 0;
  for (int i = 4 * threadIdx.x; i < n; i += 4 * kThreads) {
    auto four = load<kAligned>(x + i, n - i);
    if constexpr (kAdd) {
      const auto more = load<kAligned>(delta + begin + i, n - i);
      for (int e = 0; e < 4; ++e) four.of[e] += more.of[e];
      store<kAligned>(residual + begin + i, four, n - i);
    }
    for (int e = 0; e < 4; ++e) sum = fmaf(four.of[e], four.of[e], sum);
  }
  sum = lanes_sum(sum);
  if (threadIdx.x % kWarpLanes == 0) sums[threadIdx.x / kWarpLanes] = sum;
  __syncthreads();
  float squares = 0;
  for (int w = 0; w < kWarps; ++w) squares += sums[w];
  const float scale = 1.0f / sqrtf(squares / static_cast<float>(n) + eps);
  for (int i = 4 * threadIdx.x; i < n; i += 4 * kThreads) {
    const auto four = load<kAligned>(x + i, n - i);
    const auto factor = load<kAligned>(weight + i, n - i);
    Four<std::uint16_t> rounded;
    for (int e = 0; e < 4; ++e) rounded.of[e] = bf16_of(four.of[e] * scale * factor.of[e]);
    store<kAligned>(y + i, rounded, n - i);
  }
}

}  // namespace

void embed(const std::uint16_t* table, const std::int32_t* ids, std::int32_t tokens, std::int32_t n, float* out,
           cudaStream_t stream) {
  if (tokens == 0) return;
  const auto kernel = n % 4 == 0 && aligned(table) && aligned(out) ? embed_kernel<true> : embed_kernel<false>;
  AFORE_LAUNCH(kernel, dim3(tokens), dim3(kThreads), 0, stream, table, ids, n, out);
}

void rms_norm(const float* x, const float* weight, float eps, std::int32_t rows, std::int32_t n, std::uint16_t* y,
              cudaStream_t stream) {
  if (rows == 0) return;
  const bool fours = n % 4 == 0 && aligned(x) && aligned(weight) && aligned(y);
  const auto kernel = fours ? rms_norm_kernel<false, true> : rms_norm_kernel<false, false>;
  AFORE_LAUNCH(kernel, dim3(rows), dim3(kThreads), 0, stream, x, static_cast<const float*>(nullptr),
               static_cast<float*>(nullptr), weight, eps, n, y);
}

void add_rms_norm(float* residual, const float* delta, const float* weight, float eps, std::int32_t rows,
                  std::int32_t n, std::uint16_t* y, cudaStream_t stream) {
  if (rows == 0) return;
  const bool fours = n % 4 == 0 && aligned(residual) && aligned(delta) && aligned(weight) && aligned(y);
  const auto kernel = fours ? rms_norm_kernel<true, true> : rms_norm_kernel<true, false>;
  AFORE_LAUNCH(kernel, dim3(rows), dim3(kThreads), 0, stream, static_cast<const float*>(residual), delta, residual,
               weight, eps, n, y);
}

void add(float* residual, const float* delta, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  // The last elements of an odd count are no four, so the whole goes one by one then.
  const auto kernel = count % 4 == 0 && aligned(residual) && aligned(delta) ? add_kernel<true> : add_kernel<false>;
  const std::int64_t blocks = (count + 4 * kThreads - 1) / (4 * kThreads);
  AFORE_LAUNCH(kernel, dim3(static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks)), dim3(kThreads), 0,
               stream, residual, delta, count);
}

void take_rows(const float* x, const std::int32_t* rows, std::int32_t count, std::int32_t n, float* out,
               cudaStream_t stream) {
  if (count == 0) return;
  const auto kernel = n % 4 == 0 && aligned(x) && aligned(out) ? take_rows_kernel<true> : take_rows_kernel<false>;
  AFORE_LAUNCH(kernel, dim3(count), dim3(kThreads), 0, stream, x, rows, n, out);
}

}  // namespace afore::kernels
