#include <algorithm>
#include <numeric>

#include "bench/gpu/device_scene.h"
#include "bench/gpu/experts.h"
#include "kernels/vectors.h"

// Bits of a row do not depend on the batch: the same rows with other tiles, in another order, alone.
namespace afore::bench::gpu {
namespace {

using namespace kernels;

struct FfnRows {
  std::vector<std::uint16_t> h;
  std::vector<float> y;
};

FfnRows run_ffn(const ExpertArena& arena, const std::vector<std::uint16_t>& xs, const ExpertWork& work,
                std::int32_t tile_tokens) {
  const DeviceWork there(work);
  const Buffer<std::uint16_t> d_xs(xs), h(area(work.counts.rows, arena.intermediate));
  const Buffer<float> y(area(work.counts.rows, arena.hidden));
  expert_gate_up(arena, d_xs.data(), there.tiles.data(), there.counts.data(), work.counts.tiles, tile_tokens, h.data(),
                 stream());
  expert_down(arena, h.data(), there.tiles.data(), there.counts.data(), work.counts.tiles, tile_tokens, y.data(),
              stream());
  return {h.values(), y.values()};
}

template <class T>
std::vector<T> reversed(const std::vector<T>& rows, std::int64_t columns) {
  std::vector<T> turned;
  for (std::int64_t begin = std::ssize(rows) - columns; begin >= 0; begin -= columns)
    turned.insert(turned.end(), rows.begin() + begin, rows.begin() + begin + columns);
  return turned;
}

void check_ffn(Report& report, const Sizes& sizes) {
  constexpr std::int32_t kRows = 70;
  check(prepare_expert_ffn(), "preparing the expert FFN");
  const HostExperts experts(1, sizes.hidden, sizes.intermediate, 31);
  const Buffer<std::uint16_t> memory(experts.memory);
  const ExpertArena arena = experts.on_device(memory);
  const std::vector<std::uint16_t> xs = Numbers(32).bf16s(area(kRows, sizes.hidden));
  const FfnRows first = run_ffn(arena, xs, ExpertWork({kRows}, 16), 16);
  for (const std::int32_t tile : {32, 64}) {
    const FfnRows other = run_ffn(arena, xs, ExpertWork({kRows}, tile), tile);
    report.check("invariance", fmt::format("expert FFN, tiles of 16 and {}", tile),
                 first_difference(other.h, first.h) + first_difference(other.y, first.y));
  }
  const FfnRows turned = run_ffn(arena, reversed(xs, sizes.hidden), ExpertWork({kRows}, 64), 64);
  report.check("invariance", "expert FFN, rows in reverse",
               first_difference(reversed(turned.y, sizes.hidden), first.y));
  const std::vector<std::uint16_t> last(xs.end() - sizes.hidden, xs.end());
  const FfnRows alone = run_ffn(arena, last, ExpertWork({1}, 16), 16);
  report.check("invariance", "expert FFN, a row alone",
               first_difference(alone.y, std::vector<float>(first.y.end() - sizes.hidden, first.y.end())));
}

void check_linear(Report& report, const Sizes& sizes) {
  constexpr std::int32_t kRows = 70;
  const std::int32_t n = sizes.experts, k = sizes.hidden;
  Numbers numbers(33);
  const std::vector<std::uint16_t> x = numbers.bf16s(area(kRows, k)), w = numbers.bf16s(area(n, k));
  const Buffer<std::uint16_t> d_x(x), d_w(w);
  const Buffer<float> all(area(kRows, n)), some(area(kRows, n));
  linear(d_x.data(), d_w.data(), kRows, n, k, all.data(), stream());
  for (const std::int32_t at_once : {1, 20}) {
    for (std::int32_t r = 0; r < kRows; r += at_once)
      linear(d_x.data() + std::int64_t{r} * k, d_w.data(), std::min(at_once, kRows - r), n, k,
             some.data() + std::int64_t{r} * n, stream());
    report.check("invariance", fmt::format("linear, {} rows at once and {}", at_once, kRows),
                 first_difference(some.values(), all.values()));
  }
}

void check_norm(Report& report, const Sizes& sizes) {
  constexpr std::int32_t kRows = 9;
  Numbers numbers(34);
  const Buffer<float> x(numbers.floats(area(kRows, sizes.hidden))), weight(numbers.floats(area(1, sizes.hidden)));
  const Buffer<std::uint16_t> all(area(kRows, sizes.hidden)), some(area(kRows, sizes.hidden));
  rms_norm(x.data(), weight.data(), 1e-5f, kRows, sizes.hidden, all.data(), stream());
  for (std::int64_t r = 0; r < kRows; ++r)
    rms_norm(x.data() + r * sizes.hidden, weight.data(), 1e-5f, 1, sizes.hidden, some.data() + r * sizes.hidden,
             stream());
  report.check("invariance", "rms_norm, a row alone", first_difference(some.values(), all.values()));
}

void check_attention_alone(Report& report, const Sizes& sizes) {
  const Scene scene = make_scene(sizes.attention, {{300, 1}, {5, 1}, {15, 2}, {256, 1}}, 35, true);
  const DeviceScene there(scene);
  const std::size_t row = area(sizes.attention.heads, sizes.attention.head_dim);
  const std::vector<std::uint16_t> all = there.decode(scene.all_tokens());
  std::string difference;
  for (std::int32_t t = 0; t < scene.tokens() && difference.empty(); ++t) {
    const std::vector<std::uint16_t> alone = there.decode({t});
    const auto begin = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(t) * row);
    const auto end = begin + static_cast<std::ptrdiff_t>(row);
    difference = first_difference(std::vector(alone.begin() + begin, alone.begin() + end),
                                  std::vector(all.begin() + begin, all.begin() + end));
  }
  report.check("invariance", "attend_decode, a token alone", difference);
}

}  // namespace

void check_invariance(Context& context) {
  check_ffn(context.report, context.sizes);
  check_linear(context.report, context.sizes);
  check_norm(context.report, context.sizes);
  check_attention_alone(context.report, context.sizes);
}

}  // namespace afore::bench::gpu
