#include <cstdlib>

#include "bench/gpu/context.h"
#include "kernels/vectors.h"
#include "tests/kernels/bounds.h"
#include "tests/kernels/inputs.h"

namespace afore::bench::gpu {
namespace {

using namespace kernels;

std::string norm_difference(const std::vector<std::uint16_t>& got, const std::vector<std::uint16_t>& expected) {
  std::size_t beside = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::abs(got[i] - expected[i]) > kNormSteps)
      return fmt::format("element {} of {} is {}, not {}", i, got.size(), float_of(got[i]), float_of(expected[i]));
    beside += got[i] != expected[i];
  }
  return beside <= most_beside(got.size()) ? "" : fmt::format("{} of {} are a step beside", beside, got.size());
}

void check_moves(Report& report, std::int32_t rows, std::int32_t n) {
  Numbers numbers(1);
  constexpr std::int32_t kTable = 37;
  std::vector<std::int32_t> ids;
  for (std::int32_t r = 0; r < rows; ++r) ids.push_back(numbers.below(kTable));
  const std::vector<std::uint16_t> table = numbers.bf16s(area(kTable, n));
  const std::vector<float> x = numbers.floats(area(kTable, n));
  const Buffer<std::int32_t> d_ids(ids);
  const Buffer<std::uint16_t> d_table(table);
  const Buffer<float> d_x(x), out(area(rows, n));
  std::vector<float> expected(area(rows, n));
  const std::string shape = fmt::format("{} x {}", rows, n);

  twin::embed(table.data(), ids.data(), rows, n, expected.data());
  embed(d_table.data(), d_ids.data(), rows, n, out.data(), stream());
  report.check("vectors", "embed, " + shape, first_difference(out.values(), expected));
  twin::take_rows(x.data(), ids.data(), rows, n, expected.data());
  take_rows(d_x.data(), d_ids.data(), rows, n, out.data(), stream());
  report.check("vectors", "take_rows, " + shape, first_difference(out.values(), expected));
}

void check_norms(Report& report, std::int32_t rows, std::int32_t n) {
  Numbers numbers(2);
  const std::vector<float> x = numbers.floats(area(rows, n), 3), delta = numbers.floats(area(rows, n));
  const std::vector<float> weight = numbers.floats(area(1, n), 2);
  const Buffer<float> d_x(x), d_delta(delta), d_weight(weight), residual(x), sums(x);
  const Buffer<std::uint16_t> y(area(rows, n));
  std::vector<std::uint16_t> expected(area(rows, n));
  std::vector<float> expected_residual = x;
  const std::string shape = fmt::format("{} x {}", rows, n);

  twin::rms_norm(x.data(), weight.data(), 1e-5f, rows, n, expected.data());
  rms_norm(d_x.data(), d_weight.data(), 1e-5f, rows, n, y.data(), stream());
  report.check("vectors", "rms_norm, " + shape, norm_difference(y.values(), expected));
  twin::add_rms_norm(expected_residual.data(), delta.data(), weight.data(), 1e-5f, rows, n, expected.data());
  add_rms_norm(residual.data(), d_delta.data(), d_weight.data(), 1e-5f, rows, n, y.data(), stream());
  report.check("vectors", "add_rms_norm, " + shape, norm_difference(y.values(), expected));
  report.check("vectors", "add_rms_norm's residual, " + shape, first_difference(residual.values(), expected_residual));
  add(sums.data(), d_delta.data(), std::int64_t{rows} * n, stream());
  report.check("vectors", "add, " + shape, first_difference(sums.values(), expected_residual));
}

}  // namespace

void check_vectors(Context& context) {
  const Sizes& sizes = context.sizes;
  for (const std::int32_t n : {sizes.hidden, sizes.intermediate, 1030, 5})
    for (const std::int32_t rows : {1, sizes.tiny ? 3 : 67}) {
      check_moves(context.report, rows, n);
      check_norms(context.report, rows, n);
    }
}

}  // namespace afore::bench::gpu
