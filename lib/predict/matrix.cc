#include "predict/matrix.h"

namespace afore::predict {
namespace {

constexpr int kRows = 8;  // of c that are summed at once, in registers

// kLanes floats at any address; arithmetic is by element, whatever registers there are.
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));

template <int kCount>
[[gnu::always_inline]] inline void tile(const float* a, std::size_t a_row, std::size_t a_step, const float* w, float* c,
                                        int inner, int columns) {
  Lanes sum[kCount];
  for (int i = 0; i < kCount; ++i) sum[i] = *reinterpret_cast<const Lanes*>(c + static_cast<std::size_t>(i) * columns);
  for (int k = 0; k < inner; ++k) {
    const Lanes from = *reinterpret_cast<const Lanes*>(w + static_cast<std::size_t>(k) * columns);
    const float* factors = a + k * a_step;
    for (int i = 0; i < kCount; ++i) sum[i] += factors[i * a_row] * from;
  }
  for (int i = 0; i < kCount; ++i) *reinterpret_cast<Lanes*>(c + static_cast<std::size_t>(i) * columns) = sum[i];
}

[[gnu::always_inline]] inline void product(const float* a, std::size_t a_row, std::size_t a_step, const float* w,
                                           float* c, int rows, int inner, int columns) {
  for (int n = 0; n < columns; n += kLanes) {
    int i = 0;
    for (; i + kRows <= rows; i += kRows)
      tile<kRows>(a + i * a_row, a_row, a_step, w + n, c + static_cast<std::size_t>(i) * columns + n, inner, columns);
    for (; i < rows; ++i)
      tile<1>(a + i * a_row, a_row, a_step, w + n, c + static_cast<std::size_t>(i) * columns + n, inner, columns);
  }
}

using Product = void (*)(const float*, std::size_t, std::size_t, const float*, float*, int, int, int);

void product_plain(const float* a, std::size_t a_row, std::size_t a_step, const float* w, float* c, int rows, int inner,
                   int columns) {
  product(a, a_row, a_step, w, c, rows, inner, columns);
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void product_avx2(const float* a, std::size_t a_row, std::size_t a_step, const float* w,
                                          float* c, int rows, int inner, int columns) {
  product(a, a_row, a_step, w, c, rows, inner, columns);
}
[[gnu::target("avx512f")]] void product_avx512(const float* a, std::size_t a_row, std::size_t a_step, const float* w,
                                               float* c, int rows, int inner, int columns) {
  product(a, a_row, a_step, w, c, rows, inner, columns);
}
#endif

Product best() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return product_avx512;
  if (__builtin_cpu_supports("avx2")) return product_avx2;
#endif
  return product_plain;
}

}  // namespace

void multiply_add(const float* a, std::size_t a_row, std::size_t a_step, const float* w, float* c, int rows, int inner,
                  int columns) {
  static const Product chosen = best();
  chosen(a, a_row, a_step, w, c, rows, inner, columns);
}

}  // namespace afore::predict
