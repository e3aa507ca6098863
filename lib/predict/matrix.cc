#include "predict/matrix.h"

namespace afore::predict {
namespace {

constexpr int kRows = 4;  // of c that are summed at once, in registers

template <int kCount>
[[gnu::always_inline]] inline void tile(const float* a, std::size_t a_row, std::size_t a_step, const float* w, float* c,
                                        int inner, int columns) {
  float sum[kCount][kLanes];
  for (int i = 0; i < kCount; ++i)
    for (int n = 0; n < kLanes; ++n) sum[i][n] = c[static_cast<std::size_t>(i) * columns + n];
  for (int k = 0; k < inner; ++k) {
    const float* from = w + static_cast<std::size_t>(k) * columns;
    for (int i = 0; i < kCount; ++i) {
      const float factor = a[i * a_row + k * a_step];
      for (int n = 0; n < kLanes; ++n) sum[i][n] += factor * from[n];
    }
  }
  for (int i = 0; i < kCount; ++i)
    for (int n = 0; n < kLanes; ++n) c[static_cast<std::size_t>(i) * columns + n] = sum[i][n];
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
