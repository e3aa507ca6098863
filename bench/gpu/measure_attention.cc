// The decode step's attention against the time of reading the keys and values of all sequences once.
#include <algorithm>
#include <numeric>
#include <random>

#include "bench/gpu/context.h"
#include "bench/gpu/probe_kernels.h"

namespace afore::bench::gpu {
namespace {

using namespace kernels;

// So many sequences of equal length, pages in a scattered order; keys and values of size 1.
struct Decode {
  Decode(const AttentionShape& of, std::int32_t sequences, std::int32_t positions)
      : shape(of),
        count(sequences),
        context(positions),
        pages_each((positions + kPageTokens - 1) / kPageTokens),
        slice(counted(sequences, 1)),
        position(std::vector<std::int32_t>(static_cast<std::size_t>(sequences), positions - 1)),
        pages(scattered(sequences * pages_each)),
        pages_begin(counted(sequences, pages_each)),
        cache(area(sequences * pages_each, page_elements(of))),
        q_bits(area(2 * sequences, of.heads * of.head_dim)),
        scratch(static_cast<std::size_t>(attend_scratch_floats(of, sequences, positions))),
        out(area(sequences, of.heads * of.head_dim)) {
    fill_bf16(cache.data(), cache.size(), 1, stream());
    // Two bf16 numbers are one float of about the size of the second.
    fill_bf16(q_bits.data(), q_bits.size(), 1, stream());
    finish("filling the cache");
  }
  static std::vector<std::int32_t> counted(std::int32_t count, std::int32_t step) {
    std::vector<std::int32_t> values;
    for (std::int32_t i = 0; i < count; ++i) values.push_back(i * step);
    return values;
  }
  static std::vector<std::int32_t> scattered(std::int32_t count) {
    std::vector<std::int32_t> values = counted(count, 1);
    std::shuffle(values.begin(), values.end(), std::mt19937_64(51));
    return values;
  }
  void enqueue() const {
    attend_decode(shape, reinterpret_cast<const float*>(q_bits.data()), cache.data(),
                  {slice.data(), position.data(), pages.data(), pages_begin.data()}, slice.data(), count, context,
                  scratch.data(), out.data(), stream());
  }
  double kv_bytes() const { return 2.0 * 2 * count * context * shape.kv_heads * shape.head_dim; }

  AttentionShape shape;
  std::int32_t count, context, pages_each;
  Buffer<std::int32_t> slice, position, pages, pages_begin;
  Buffer<std::uint16_t> cache, q_bits;
  Buffer<float> scratch;
  Buffer<std::uint16_t> out;
};

void measure(Context& context, std::int32_t sequences, std::int32_t positions) {
  const Decode decode(context.sizes.attention, sequences, positions);
  const Times times = time_on_gpu(3, context.sizes.tiny ? 2 : 20, [&](int) { decode.enqueue(); });
  const double floor_ns = decode.kv_bytes() / context.read_bytes_per_s * 1e9;
  const std::string of = fmt::format("decode, {} sequences of {}", sequences, positions);
  context.report.figures.push_back(time_figure("attention", of, times));
  context.report.figures.push_back({.section = "attention",
                                    .name = of + ", floor / time",
                                    .unit = "",
                                    .value = floor_ns / times.median,
                                    .p95 = {},
                                    .n = 1,
                                    .note = context.sizes.tiny ? "" : fmt::format("floor {:.1f} us", floor_ns / 1e3),
                                    .goal = {},
                                    .met = false});
}

}  // namespace

void measure_attention(Context& context) {
  if (context.read_bytes_per_s == 0) {
    context.report.skipped.push_back({"attention", "no read rate was measured to compute floors with"});
    return;
  }
  if (context.sizes.tiny) return measure(context, 2, 40);
  measure(context, 256, 1024);
  measure(context, 64, 4096);
  measure(context, 16, 16384);
}

}  // namespace afore::bench::gpu
