// Without instructions that a processor may lack: float32 activations times weights widened from bf16, each product
// rounded. The vectors of four are the compiler's, which has an instruction for them nearly everywhere. A line is 16
// floats.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "device/cpu/exp.h"
#include "device/cpu/grouped.h"
#include "device/cpu/instruction_sets.h"

#define AFORE_TARGET
#define AFORE_INLINE inline __attribute__((always_inline))

namespace afore::device::cpu {
namespace {

constexpr Isa kIsa = Isa::scalar;
constexpr int kWeighVectors = 1;

using FourInts = std::int32_t __attribute__((vector_size(16)));

struct V {
  Four part[4];
};

template <class Of>
AFORE_INLINE V each(const Of& of) {
  return {{of(0), of(1), of(2), of(3)}};
}

AFORE_INLINE V load(const float* x) {
  V v;
  std::memcpy(&v, x, sizeof(v));
  return v;
}
AFORE_INLINE void store(float* x, const V& v) { std::memcpy(x, &v, sizeof(v)); }
AFORE_INLINE V splat(float x) {
  const Four four = {x, x, x, x};
  return {{four, four, four, four}};
}
AFORE_INLINE V zero() { return splat(0); }
AFORE_INLINE V add(const V& a, const V& b) {
  return each([&](int i) { return a.part[i] + b.part[i]; });
}
AFORE_INLINE V mul(const V& a, const V& b) {
  return each([&](int i) { return a.part[i] * b.part[i]; });
}
AFORE_INLINE V div(const V& a, const V& b) {
  return each([&](int i) { return a.part[i] / b.part[i]; });
}
AFORE_INLINE V negate(const V& a) {
  return each([&](int i) { return -a.part[i]; });
}
AFORE_INLINE V mul_add(const V& a, const V& b, const V& c) {
  return each([&](int i) { return a.part[i] * b.part[i] + c.part[i]; });
}
AFORE_INLINE V max(const V& a, const V& b) {
  return each([&](int i) { return a.part[i] > b.part[i] ? a.part[i] : b.part[i]; });
}

// Halves onto each other, four times.
AFORE_INLINE float sum(const V& v) {
  const Four four = (v.part[0] + v.part[2]) + (v.part[1] + v.part[3]);
  return (four[0] + four[2]) + (four[1] + four[3]);
}
AFORE_INLINE float largest(const V& v) {
  float most = v.part[0][0];
  for (const Four& part : v.part)
    for (int i = 0; i < 4; ++i) most = part[i] > most ? part[i] : most;
  return most;
}

AFORE_INLINE V exp(const V& x) {
  return each([&](int i) { return exp_f32(x.part[i]); });
}

AFORE_INLINE void fill_line(const V& v, std::byte* line) { std::memcpy(line, &v, sizeof(v)); }

// One row times one panel. `lines`: the row's lines, tile_bytes apart.
void multiply_row(const std::byte* lines, std::int64_t tile_bytes, const std::byte* w, std::int64_t k, float* out) {
  V total = zero();
  for (std::int64_t at = 0; at < k; at += 2, w += 64) {
    float x[2];
    std::memcpy(x, lines + at / 16 * tile_bytes + at % 16 * 4, sizeof(x));
    FourInts pairs[4];
    std::memcpy(pairs, w, sizeof(pairs));
    total = each([&](int i) { return total.part[i] + (Four)(pairs[i] << 16) * x[0]; });
    total =
        each([&](int i) { return total.part[i] + (Four)(pairs[i] & static_cast<std::int32_t>(0xffff0000u)) * x[1]; });
  }
  store(out, total);
}

constexpr int group_panels(int) { return 1; }

void multiply_tile(const std::byte* lines, int rows, const std::byte* w, std::int64_t panel_bytes, std::int64_t k,
                   int panels, std::int64_t, float* out) {
  for (int r = 0; r < rows; ++r)
    for (int p = 0; p < panels; ++p)
      multiply_row(lines + r * kLineBytes, rows * kLineBytes, w + p * panel_bytes, k, out + (r * panels + p) * kPanel);
}

AFORE_TARGET void multiply_pair(const std::byte* lines, const std::byte* first, const std::byte* second,
                                std::int64_t panel_bytes, std::int64_t k, int panels, std::int64_t ahead, float* out) {
  multiply_tile(lines, 1, first, panel_bytes, k, panels, ahead, out);
  multiply_tile(lines, 1, second, panel_bytes, k, panels, ahead, out + panels * kPanel);
}

#include "device/cpu/body.inc"

}  // namespace

const Kernels& scalar_kernels() {
  static const Set set;
  return set;
}

}  // namespace afore::device::cpu
