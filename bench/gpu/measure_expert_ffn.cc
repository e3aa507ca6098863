// The grouped expert FFN, some experts active of many that are resident, so that no weights stay in the L2 cache from
// one call to the next. Two yardsticks: the time of reading the active experts' weights once at the measured read rate,
// and cuBLAS called twice for each expert (gate and up as one product, then down). cuBLAS' time leaves out SwiGLU,
// which ours has: that is in its favour.
#include <algorithm>

#include "bench/gpu/blas.h"
#include "bench/gpu/context.h"
#include "bench/gpu/experts.h"
#include "bench/gpu/probe_kernels.h"

namespace afore::bench::gpu {
namespace {

using namespace kernels;

constexpr double kFloorGoal = 0.8;

struct Scene {
  Scene(const Sizes& sizes, std::int32_t most_tokens)
      : active(sizes.tiny ? 2 : 16),
        rotations(sizes.experts / active),
        weights(area(sizes.experts, slot_bytes(sizes.hidden, sizes.intermediate) / 2)),
        xs(area(active * most_tokens, sizes.hidden)),
        h(area(active * most_tokens, 2 * sizes.intermediate)),  // cuBLAS' has gate and up apart
        y(area(active * most_tokens, sizes.hidden)) {
    arena = {reinterpret_cast<const std::byte*>(weights.data()), slot_bytes(sizes.hidden, sizes.intermediate),
             sizes.hidden, sizes.intermediate};
    fill_bf16(weights.data(), weights.size(), 2 / std::sqrt(static_cast<float>(sizes.hidden)), stream());
    fill_bf16(xs.data(), xs.size(), 1, stream());
    finish("filling weights");
    check(prepare_expert_ffn(), "preparing the expert FFN");
  }
  double active_bytes() const { return static_cast<double>(active * expert_bytes(arena.hidden, arena.intermediate)); }

  std::int32_t active, rotations;
  Buffer<std::uint16_t> weights, xs, h;
  Buffer<float> y;
  ExpertArena arena;
};

Times time_grouped(const Scene& scene, std::int32_t tokens, std::int32_t tile_tokens, int n) {
  std::vector<std::unique_ptr<DeviceWork>> work;  // by rotation
  std::int32_t most_tiles = 0;
  for (std::int32_t r = 0; r < scene.rotations; ++r) {
    const ExpertWork of(std::vector<std::int32_t>(static_cast<std::size_t>(scene.active), tokens), tile_tokens,
                        r * scene.active);
    most_tiles = of.counts.tiles;
    work.push_back(std::make_unique<DeviceWork>(of));
  }
  return time_on_gpu(scene.rotations, n, [&](int i) {
    const DeviceWork& now = *work[static_cast<std::size_t>(i % scene.rotations)];
    expert_gate_up(scene.arena, scene.xs.data(), now.tiles.data(), now.counts.data(), most_tiles, tile_tokens,
                   scene.h.data(), stream());
    expert_down(scene.arena, scene.h.data(), now.tiles.data(), now.counts.data(), most_tiles, tile_tokens,
                scene.y.data(), stream());
  });
}

Times time_blas(const Scene& scene, std::int32_t tokens, int n) {
  const std::int32_t hidden = scene.arena.hidden, intermediate = scene.arena.intermediate;
  return time_on_gpu(scene.rotations, n, [&](int i) {
    for (std::int64_t e = 0; e < scene.active; ++e) {
      const std::int64_t slot = i % scene.rotations * scene.active + e, row = e * tokens;
      const std::uint16_t* weights = scene.weights.data() + slot * scene.arena.slot_bytes / 2;
      std::uint16_t* h = scene.h.data() + row * 2 * intermediate;
      blas_product(scene.xs.data() + row * hidden, weights, tokens, 2 * intermediate, hidden, h);
      blas_product(h, weights + std::int64_t{2} * hidden * intermediate, tokens, hidden, intermediate,
                   scene.y.data() + row * hidden);
    }
  });
}

Figure ratio_figure(const std::string& name, double ratio, double goal, const std::string& note) {
  return {.section = "grouped",
          .name = name,
          .unit = "",
          .value = ratio,
          .p95 = {},
          .n = 1,
          .note = note,
          .goal = fmt::format(">= {}", goal),
          .met = ratio >= goal};
}

void measure(Context& context, const Scene& scene, std::int32_t tokens) {
  Report& report = context.report;
  const int n = context.sizes.tiny ? 2 : 40;
  const std::string of = fmt::format("{} tokens per expert", tokens);
  double best_ns = 0;
  std::int32_t best_tile = 0;
  for (const std::int32_t tile : {16, 32, 64}) {
    const Times times = time_grouped(scene, tokens, tile, n);
    report.figures.push_back(time_figure("grouped", fmt::format("{}, tiles of {}", of, tile), times));
    if (best_tile == 0 || times.median < best_ns) {
      best_ns = times.median;
      best_tile = tile;
    }
  }
  const double floor_ns = scene.active_bytes() / context.read_bytes_per_s * 1e9;
  report.figures.push_back(
      ratio_figure(of + ", floor / time", floor_ns / best_ns, kFloorGoal,
                   context.sizes.tiny ? "" : fmt::format("tiles of {}; floor {:.1f} us", best_tile, floor_ns / 1e3)));
  if (!why_no_blas().empty()) return;
  const Times loop = time_blas(scene, tokens, n);
  report.figures.push_back(time_figure("grouped", of + ", cuBLAS loop", loop));
  report.figures.push_back(ratio_figure(of + ", cuBLAS loop / time", loop.median / best_ns, 1, ""));
}

}  // namespace

void measure_expert_ffn(Context& context) {
  if (context.read_bytes_per_s == 0) {
    context.report.skipped.push_back({"grouped", "no read rate was measured to compute floors with"});
    return;
  }
  const std::vector<std::int32_t> tokens = context.sizes.tiny
                                               ? std::vector<std::int32_t>{1, 17}
                                               : std::vector<std::int32_t>{1, 2, 4, 8, 16, 32, 64, 128, 256};
  const Scene scene(context.sizes, tokens.back());
  for (const std::int32_t count : tokens) measure(context, scene, count);
}

}  // namespace afore::bench::gpu
