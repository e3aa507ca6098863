#pragma once
// The one product that training and prediction spend their time in. Every element of the result is summed in the same
// order whatever the instruction set, without fused multiply-adds: the same inputs give the same bits everywhere.
#include <cstddef>

namespace afore::predict {

inline constexpr int kLanes = 16;  // columns of a product come in multiples of it

constexpr int padded(int columns) { return (columns + kLanes - 1) / kLanes * kLanes; }

// c[i][n] += sum over k of a[i * a_row + k * a_step] * w[k][n], k ascending. w is [k][columns] and c [rows][columns],
// both without gaps; `columns` is a multiple of kLanes.
void multiply_add(const float* a, std::size_t a_row, std::size_t a_step, const float* w, float* c, int rows, int inner,
                  int columns);

// c[n] += w[n], over `columns`.
inline void add_row(const float* w, float* c, int columns) {
  for (int n = 0; n < columns; ++n) c[n] += w[n];
}

}  // namespace afore::predict
