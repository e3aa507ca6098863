#include "kernels/vectors.h"

#include <cmath>

#include "kernels/bf16.h"

namespace afore::kernels::twin {

void embed(const std::uint16_t* table, const std::int32_t* ids, std::int32_t tokens, std::int32_t n, float* out) {
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t i = 0; i < n; ++i) out[t * n + i] = float_of(table[std::int64_t{ids[t]} * n + i]);
}

// In double, rounded once.
void rms_norm(const float* x, const float* weight, float eps, std::int32_t rows, std::int32_t n, std::uint16_t* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * n;
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) squares += double{row[i]} * row[i];
    const double rms = std::sqrt(squares / n + eps);
    for (std::int64_t i = 0; i < n; ++i) y[r * n + i] = bf16_of(static_cast<float>(row[i] / rms * weight[i]));
  }
}

void add_rms_norm(float* residual, const float* delta, const float* weight, float eps, std::int32_t rows,
                  std::int32_t n, std::uint16_t* y) {
  add(residual, delta, std::int64_t{rows} * n);
  rms_norm(residual, weight, eps, rows, n, y);
}

void add(float* residual, const float* delta, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) residual[i] += delta[i];
}

void take_rows(const float* x, const std::int32_t* rows, std::int32_t count, std::int32_t n, float* out) {
  for (std::int64_t r = 0; r < count; ++r)
    for (std::int64_t i = 0; i < n; ++i) out[r * n + i] = x[std::int64_t{rows[r]} * n + i];
}

}  // namespace afore::kernels::twin
