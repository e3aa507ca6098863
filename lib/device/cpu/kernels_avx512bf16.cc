// AVX512-BF16: an activation is multiplied as the sum of two bf16 numbers, its rounding and the rounding of the rest,
// both by VDPBF16PS into the same sum. A line is 16 roundings, then the 16 rests.
#include "device/cpu/exp.h"
#include "device/cpu/grouped.h"
#include "device/cpu/instruction_sets.h"

#ifdef __x86_64__
#ifndef __clang__  // GCC 12 takes the undefined operands of its own intrinsics for our uninitialised ones (PR 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#define AFORE_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define AFORE_INLINE AFORE_TARGET inline __attribute__((always_inline))

namespace afore::device::cpu {
namespace {

constexpr Isa kIsa = Isa::avx512bf16;
constexpr int kWeighVectors = 2;

using V = __m512;

AFORE_INLINE V load(const float* x) { return _mm512_loadu_ps(x); }
AFORE_INLINE void store(float* x, V v) { _mm512_storeu_ps(x, v); }
AFORE_INLINE V splat(float x) { return _mm512_set1_ps(x); }
AFORE_INLINE V zero() { return _mm512_setzero_ps(); }
AFORE_INLINE V add(V a, V b) { return _mm512_add_ps(a, b); }
AFORE_INLINE V mul(V a, V b) { return _mm512_mul_ps(a, b); }
AFORE_INLINE V div(V a, V b) { return _mm512_div_ps(a, b); }
AFORE_INLINE V max(V a, V b) { return _mm512_max_ps(a, b); }
AFORE_INLINE V negate(V a) { return _mm512_xor_ps(a, splat(-0.0f)); }
AFORE_INLINE V mul_add(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }

// Halves onto each other, four times.
AFORE_INLINE float sum(V v) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
AFORE_INLINE float largest(V v) { return _mm512_reduce_max_ps(v); }

AFORE_INLINE V exp(V x) {
  const __mmask16 vanishes = _mm512_cmp_ps_mask(x, splat(kExpLowest), _CMP_LT_OQ);
  x = _mm512_min_ps(splat(kExpHighest), x);  // in this order a NaN stays one
  const V n = _mm512_roundscale_ps(mul(x, splat(kInverseLn2)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const V r = _mm512_fnmadd_ps(n, splat(kLn2Low), _mm512_fnmadd_ps(n, splat(kLn2High), x));
  V terms = splat(kExpTerms[0]);
#pragma GCC unroll 5
  for (int i = 1; i < 6; ++i) terms = mul_add(terms, r, splat(kExpTerms[i]));
  const V e = add(splat(1), mul_add(mul(r, r), terms, r));
  return _mm512_maskz_scalef_ps(_mm512_knot(vanishes), e, n);
}

AFORE_INLINE void fill_line(V v, std::byte* line) {
  const __m256i high = (__m256i)_mm512_cvtneps_pbh(v);
  const V rounded = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
  const __m256i low = (__m256i)_mm512_cvtneps_pbh(_mm512_sub_ps(v, rounded));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(line), high);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(line + 32), low);
}

// Two consecutive bf16 of one row, to every lane.
AFORE_INLINE __m512bh splat_pair(const std::byte* pair) {
  int both = 0;
  std::memcpy(&both, pair, sizeof(both));
  return (__m512bh)_mm512_set1_epi32(both);
}

// Panel p starts panel_bytes after the one before it; of `two` matrices, the second half's lie as far from the first
// half's as `apart` says. A row alone is as fast as its weights come, and asking for lines that come anyway costs time:
// `fetch` says whether to.
template <int rows, int panels, bool fetch, bool two>
AFORE_TARGET void multiply_block(const std::byte* lines, const std::byte* w, std::int64_t panel_bytes,
                                 std::int64_t apart, std::int64_t k, std::int64_t ahead, float* out) {
  std::int64_t offset[panels];
#pragma GCC unroll 8
  for (int p = 0; p < panels; ++p)
    offset[p] = two && p >= panels / 2 ? apart + (p - panels / 2) * panel_bytes : p * panel_bytes;
  V total[rows][panels];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < panels; ++p) total[r][p] = zero();
  }
  std::int64_t pairs = (k + 1) / 2;
  for (; pairs > 0; pairs -= 8, lines += rows * kLineBytes) {
    const std::byte* pair = lines;
    for (const std::byte* end = lines + 4 * std::min<std::int64_t>(pairs, 8); pair < end; pair += 4, w += 64) {
      __m512bh weight[panels];
#pragma GCC unroll 8
      for (int p = 0; p < panels; ++p) {
        weight[p] = (__m512bh)_mm512_loadu_si512(w + offset[p]);
        if (fetch) _mm_prefetch(reinterpret_cast<const char*>(w + offset[p] + ahead), _MM_HINT_T1);
      }
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const __m512bh high = splat_pair(pair + r * kLineBytes), low = splat_pair(pair + r * kLineBytes + 32);
#pragma GCC unroll 8
        for (int p = 0; p < panels; ++p) total[r][p] = _mm512_dpbf16_ps(total[r][p], high, weight[p]);
#pragma GCC unroll 8
        for (int p = 0; p < panels; ++p) total[r][p] = _mm512_dpbf16_ps(total[r][p], low, weight[p]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < panels; ++p) store(out + (r * panels + p) * kPanel, total[r][p]);
  }
}

// As many sums as the 32 registers hold beside the weights and two activations.
constexpr int kMostPanels[] = {0, 8, 8, 8, 6, 4, 4, 3, 3};
constexpr int group_panels(int rows) { return kMostPanels[rows]; }

using Block = void (*)(const std::byte*, const std::byte*, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                       float*);
template <int rows, bool fetch = true>
constexpr Block block_of(int panels) {
  constexpr int most = kMostPanels[rows];
  constexpr Block blocks[] = {
      multiply_block<rows, 1, fetch, false>,
      multiply_block<rows, std::min(most, 2), fetch, false>,
      multiply_block<rows, std::min(most, 3), fetch, false>,
      multiply_block<rows, std::min(most, 4), fetch, false>,
      multiply_block<rows, std::min(most, 5), fetch, false>,
      multiply_block<rows, std::min(most, 6), fetch, false>,
      multiply_block<rows, std::min(most, 7), fetch, false>,
      multiply_block<rows, std::min(most, 8), fetch, false>,
  };
  return blocks[panels - 1];
}

AFORE_TARGET void multiply_tile(const std::byte* lines, int rows, const std::byte* w, std::int64_t panel_bytes,
                                std::int64_t k, int panels, std::int64_t ahead, float* out) {
  Block block = nullptr;
  switch (rows) {
    case 1: block = ahead > 0 ? block_of<1>(panels) : block_of<1, false>(panels); break;
    case 2: block = block_of<2>(panels); break;
    case 3: block = block_of<3>(panels); break;
    case 4: block = block_of<4>(panels); break;
    case 5: block = block_of<5>(panels); break;
    case 6: block = block_of<6>(panels); break;
    case 7: block = block_of<7>(panels); break;
    default: block = block_of<8>(panels); break;
  }
  block(lines, w, panel_bytes, 0, k, ahead, out);
}

// Sums of one row depend each on the last: eight of them keep the multipliers busy, four do not.
template <bool fetch>
constexpr Block kPairBlocks[] = {multiply_block<1, 2, fetch, true>, multiply_block<1, 4, fetch, true>,
                                 multiply_block<1, 6, fetch, true>, multiply_block<1, 8, fetch, true>};

AFORE_TARGET void multiply_pair(const std::byte* lines, const std::byte* first, const std::byte* second,
                                std::int64_t panel_bytes, std::int64_t k, int panels, std::int64_t ahead, float* out) {
  const Block block = ahead > 0 ? kPairBlocks<true>[panels - 1] : kPairBlocks<false>[panels - 1];
  block(lines, first, panel_bytes, second - first, k, ahead, out);
}

#include "device/cpu/body.inc"

}  // namespace

const Kernels& avx512bf16_kernels() {
  static const Set set;
  return set;
}

}  // namespace afore::device::cpu
#endif
