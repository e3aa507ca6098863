// AVX2 with FMA: float32 activations times weights widened from bf16. A line is 16 floats.
#include "device/cpu/exp.h"
#include "device/cpu/grouped.h"
#include "device/cpu/instruction_sets.h"

#ifdef __x86_64__
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#define AFORE_TARGET __attribute__((target("avx2,fma")))
#define AFORE_INLINE AFORE_TARGET inline __attribute__((always_inline))

namespace afore::device::cpu {
namespace {

constexpr Isa kIsa = Isa::avx2;
constexpr int kWeighVectors = 1;

struct V {
  __m256 low, high;
};

AFORE_INLINE V load(const float* x) { return {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)}; }
AFORE_INLINE void store(float* x, V v) {
  _mm256_storeu_ps(x, v.low);
  _mm256_storeu_ps(x + 8, v.high);
}
AFORE_INLINE V splat(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
AFORE_INLINE V zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
AFORE_INLINE V add(V a, V b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
AFORE_INLINE V mul(V a, V b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
AFORE_INLINE V div(V a, V b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
AFORE_INLINE V max(V a, V b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
AFORE_INLINE V negate(V a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
}
AFORE_INLINE V mul_add(V a, V b, V c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}

// Halves onto each other, four times.
AFORE_INLINE float sum(V v) {
  const __m256 eight = _mm256_add_ps(v.low, v.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
AFORE_INLINE float largest(V v) {
  const __m256 eight = _mm256_max_ps(v.low, v.high);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

AFORE_INLINE __m256 exp_8(__m256 x) {
  const __m256 vanishes = _mm256_cmp_ps(x, _mm256_set1_ps(kExpLowest), _CMP_LT_OQ);
  x = _mm256_min_ps(_mm256_set1_ps(kExpHighest), x);  // in this order a NaN stays one
  const __m256 n =
      _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(kInverseLn2)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2High), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2Low), r);
  __m256 terms = _mm256_set1_ps(kExpTerms[0]);
#pragma GCC unroll 5
  for (int i = 1; i < 6; ++i) terms = _mm256_fmadd_ps(terms, r, _mm256_set1_ps(kExpTerms[i]));
  const __m256 e = _mm256_add_ps(_mm256_set1_ps(1), _mm256_fmadd_ps(_mm256_mul_ps(r, r), terms, r));
  const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_andnot_ps(vanishes, _mm256_mul_ps(e, _mm256_castsi256_ps(power)));
}
AFORE_INLINE V exp(V x) { return {exp_8(x.low), exp_8(x.high)}; }

AFORE_INLINE void fill_line(V v, std::byte* line) { store(reinterpret_cast<float*>(line), v); }

AFORE_INLINE __m256 splat_at(const std::byte* x) { return _mm256_broadcast_ss(reinterpret_cast<const float*>(x)); }

// The even and the odd k of 8 pairs of weights, as floats.
AFORE_INLINE __m256 even_of(__m256i pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }
AFORE_INLINE __m256 odd_of(__m256i pairs) {
  return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}

// `rows` rows of a tile whose lines of one k lie tile_bytes apart. A row alone is as fast as its weights come, and
// asking for lines that come anyway costs time: `fetch` says whether to.
template <int rows, int panels, bool fetch = true>
AFORE_TARGET void multiply_block(const std::byte* lines, std::int64_t tile_bytes, const std::byte* w,
                                 std::int64_t panel_bytes, std::int64_t k, std::int64_t ahead, float* out,
                                 std::int64_t out_stride) {
  V total[rows][panels];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < panels; ++p) total[r][p] = zero();
  }
  std::int64_t pairs = (k + 1) / 2;
  for (; pairs > 0; pairs -= 8, lines += tile_bytes) {
    const std::byte* pair = lines;
    for (const std::byte* end = lines + 8 * std::min<std::int64_t>(pairs, 8); pair < end; pair += 8, w += 64) {
#pragma GCC unroll 4
      for (int p = 0; p < panels; ++p) {
        const auto* line = reinterpret_cast<const __m256i*>(w + p * panel_bytes);
        const __m256i low = _mm256_loadu_si256(line), high = _mm256_loadu_si256(line + 1);
        if (fetch) _mm_prefetch(reinterpret_cast<const char*>(w + p * panel_bytes + ahead), _MM_HINT_T1);
        const V even = {even_of(low), even_of(high)}, odd = {odd_of(low), odd_of(high)};
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
          const __m256 x = splat_at(pair + r * kLineBytes);
          total[r][p] = mul_add({x, x}, even, total[r][p]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
          const __m256 x = splat_at(pair + r * kLineBytes + 4);
          total[r][p] = mul_add({x, x}, odd, total[r][p]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < panels; ++p) store(out + r * out_stride + p * kPanel, total[r][p]);
  }
}

constexpr std::int64_t kPageBytes = 4096;

// A multiple of what multiply_block does at once below.
constexpr int group_panels(int rows) { return rows == 2 ? 6 : 4; }

// `most` panels at once: as many sums as the 16 registers hold beside weights and an activation, and no fewer than the
// eight that hide an addition's latency. A single panel leaves the hardware one stream to follow, which it follows to
// the end of a page of 4 KiB: the next one is fetched here.
template <int rows, int most, bool fetch = true>
AFORE_TARGET void multiply_rows(const std::byte* lines, std::int64_t tile_bytes, const std::byte* w,
                                std::int64_t panel_bytes, std::int64_t k, int panels, std::int64_t ahead, float* out) {
  const std::int64_t stride = std::int64_t{panels} * kPanel;
  if (most == 1 && ahead == 0) ahead = kPageBytes;
  int p = 0;
  for (; p + most <= panels; p += most, w += most * panel_bytes)
    multiply_block<rows, most, fetch>(lines, tile_bytes, w, panel_bytes, k, ahead, out + p * kPanel, stride);
  for (; p < panels; ++p, w += panel_bytes)
    multiply_block<rows, 1, fetch>(lines, tile_bytes, w, panel_bytes, k, ahead, out + p * kPanel, stride);
}

AFORE_TARGET void multiply_tile(const std::byte* lines, int rows, const std::byte* w, std::int64_t panel_bytes,
                                std::int64_t k, int panels, std::int64_t ahead, float* out) {
  const std::int64_t tile_bytes = rows * kLineBytes;
  for (; rows > 0; rows -= 4, lines += 4 * kLineBytes, out += std::int64_t{4} * panels * kPanel, ahead = 0) {
    switch (rows) {
      case 1:
        if (ahead > 0) multiply_rows<1, 4>(lines, tile_bytes, w, panel_bytes, k, panels, ahead, out);
        else multiply_rows<1, 4, false>(lines, tile_bytes, w, panel_bytes, k, panels, 0, out);
        break;
      case 2: multiply_rows<2, 3>(lines, tile_bytes, w, panel_bytes, k, panels, ahead, out); break;
      case 3: multiply_rows<3, 2>(lines, tile_bytes, w, panel_bytes, k, panels, ahead, out); break;
      default: multiply_rows<4, 1>(lines, tile_bytes, w, panel_bytes, k, panels, ahead, out); break;
    }
  }
}

AFORE_TARGET void multiply_pair(const std::byte* lines, const std::byte* first, const std::byte* second,
                                std::int64_t panel_bytes, std::int64_t k, int panels, std::int64_t ahead, float* out) {
  multiply_tile(lines, 1, first, panel_bytes, k, panels, ahead, out);
  multiply_tile(lines, 1, second, panel_bytes, k, panels, ahead, out + panels * kPanel);
}

#include "device/cpu/body.inc"

}  // namespace

const Kernels& avx2_kernels() {
  static const Set set;
  return set;
}

}  // namespace afore::device::cpu
#endif
