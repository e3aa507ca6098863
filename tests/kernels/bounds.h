#pragma once
// How far a kernel may be from its twin, where its sums have another order or precision. Tests on the stand-in and
// gpu_check on devices hold kernels to the same bounds.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "kernels/attention.h"
#include "kernels/bf16.h"

namespace afore::kernels {

// A score is a sum of dim products along a chain of dim / 4 + 4 roundings, each at most 2^-24 of the sum of the
// products' sizes, which is at most sqrt(dim) * 2 with |q| <= 2, |k| <= 1. It moves a weight by that factor, above and
// below the line; beside it stand the exponential (2^-23), the sum of weights and that of values (a rounding each
// position of a chain of 16 and each page and chunk). Then both sides are rounded to bf16, 2^-8 each.
inline double attend_bound(const AttentionShape& shape, std::int32_t positions, double expected) {
  const double score = (shape.head_dim / 4 + 4) * 2 * std::sqrt(shape.head_dim);
  const double sums = 40 + positions / 8.0;
  return (2 * score + sums) * 0x1p-24 * 2 + std::abs(expected) * 0x1p-7;
}

// RMSNorm: the mean of squares is off by at most (n / 256 + 20) * 2^-24 of itself, far less than bf16's half step of
// 2^-9: so results are the twin's or the step beside it, and the latter only where the exact value is near the middle.
constexpr int kNormSteps = 1;
constexpr std::size_t most_beside(std::size_t size) { return 2 + size / 200; }

// Queries after norms and rotation: the mean of squares is off by at most (dim / 32 + 6) * 2^-24 of itself, and a
// rotated number by 4 roundings of the larger of the two it is made of: below 2^-19 of a head's largest number.
inline float query_bound(float most_of_head) { return most_of_head * 0x1p-19f; }
// Keys and values may then round to the step beside. Numbers about 0, where two products cancel, have errors of many of
// their own steps.
inline float cache_bound(float expected) { return std::abs(expected) * 0x1p-7f + 0x1p-17f; }

// Sums of K products in float32 differ from the twin's, which are exact up to one rounding, by rounding errors that are
// independent: at most 4 * sqrt(K) * 2^-24 * sum |x w|. Devices may cut off where the stand-in rounds, and add 16
// products at a time, which is what the factor 4 leaves room for.
struct Sums {
  double sum = 0, sizes = 0;  // of x w, of |x w|
};
inline Sums sums_of(const std::uint16_t* x, const std::uint16_t* w, std::int64_t k) {
  Sums sums;
  for (std::int64_t i = 0; i < k; ++i) {
    const double product = double{float_of(x[i])} * double{float_of(w[i])};
    sums.sum += product;
    sums.sizes += std::abs(product);
  }
  return sums;
}
inline double product_bound(std::int64_t k, double sizes) {
  return 4 * std::sqrt(static_cast<double>(k)) * 0x1p-24 * sizes + 1e-30;
}
inline double product_bound(const std::uint16_t* x, const std::uint16_t* w, std::int64_t k) {
  return product_bound(k, sums_of(x, w, k).sizes);
}
// Of silu(gate x) * (up x) as bf16, which may round to a neighbour: 2^-7 more. The slope of silu is below 1.1.
inline double gate_up_bound(const std::uint16_t* x, const std::uint16_t* gate, const std::uint16_t* up,
                            std::int64_t k) {
  const Sums g = sums_of(x, gate, k), u = sums_of(x, up, k);
  const double silu = g.sum / (1 + std::exp(-g.sum));
  const double g_error = 1.1 * product_bound(k, g.sizes), u_error = product_bound(k, u.sizes);
  return g_error * std::abs(u.sum) + (std::abs(silu) + g_error) * u_error + 0x1p-7 * std::abs(silu * u.sum);
}

}  // namespace afore::kernels
