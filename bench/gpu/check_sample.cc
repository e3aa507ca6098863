#include "bench/gpu/context.h"
#include "kernels/sample.h"
#include "tests/kernels/inputs.h"

namespace afore::bench::gpu {
namespace {

using namespace kernels;

void check_rows_of(Report& report, std::int32_t vocab, std::int32_t rows) {
  Numbers numbers(7);
  std::vector<SampleRow> options;
  const float temperatures[] = {0, 0.3f, 1, 1.5f}, top_ps[] = {1, 0.9f, 0.5f, 0.01f, 0.999f};
  for (std::int32_t r = 0; r < rows; ++r)
    options.push_back({temperatures[r % 4], top_ps[r % 5], (numbers.signed_unit() + 1) / 2});
  const std::vector<float> logits = numbers.floats(area(rows, vocab), 8);
  std::vector<std::int32_t> expected(static_cast<std::size_t>(rows));
  std::int32_t not_finite = 0;
  twin::sample(logits.data(), options.data(), rows, vocab, expected.data(), &not_finite);
  const Buffer<float> d_logits(logits);
  const Buffer<SampleRow> d_options(options);
  const Buffer<std::int32_t> tokens(expected.size()), d_not_finite(std::vector<std::int32_t>{0});
  sample(d_logits.data(), d_options.data(), rows, vocab, tokens.data(), d_not_finite.data(), stream());
  const std::string name = fmt::format("{} rows of {}", rows, vocab);
  report.check("sample", name + ": tokens", first_difference(tokens.values(), expected));
  report.check("sample", name + ": finite", first_difference(d_not_finite.values(), {not_finite}));
}

}  // namespace

void check_sample(Context& context) {
  check_rows_of(context.report, context.sizes.vocab, context.sizes.tiny ? 6 : 20);
  check_rows_of(context.report, 4096, 20);
  check_rows_of(context.report, 513, 3);
}

}  // namespace afore::bench::gpu
