#include "bench/gpu/context.h"
#include "bench/gpu/routed.h"

namespace afore::bench::gpu {
namespace {

using namespace kernels;

// What list_work writes, by the twin and by the device.
struct Work {
  Work(Routed& routed, std::int32_t tile_tokens)
      : bounds(routed.bounds(tile_tokens)),
        counts(1, WorkCounts{.shares = bounds.shares, .rows = -5, .tiles = -5}),
        rows(static_cast<std::size_t>(bounds.rows)),
        tiles(static_cast<std::size_t>(bounds.tiles)),
        d_counts(counts),
        d_rows(rows.size()),
        d_tiles(tiles.size()) {
    const Buffer<Share> shares(routed.shares);
    const Buffer<Part> parts(routed.device_parts(true));
    twin::list_work(routed.host_parts(true).data(), routed.shares.data(), counts.data(), bounds, tile_tokens,
                    rows.data(), tiles.data());
    list_work(parts.data(), shares.data(), d_counts.data(), bounds, tile_tokens, d_rows.data(), d_tiles.data(),
              stream());
    finish("list_work");
  }
  WorkBounds bounds;
  std::vector<WorkCounts> counts;
  std::vector<Row> rows;
  std::vector<Tile> tiles;
  Buffer<WorkCounts> d_counts;
  Buffer<Row> d_rows;
  Buffer<Tile> d_tiles;
};

void check_listing(Report& report, Routed& routed, std::int32_t tile_tokens) {
  const Work work(routed, tile_tokens);
  const std::string name = fmt::format("list_work, tiles of {}: ", tile_tokens);
  report.check("rows", name + "counts", first_difference(work.d_counts.values(), work.counts));
  report.check("rows", name + "rows", first_difference(work.d_rows.values(), work.rows));
  report.check("rows", name + "tiles", first_difference(work.d_tiles.values(), work.tiles));
  for (std::size_t p = 0; p < routed.host.size(); ++p)
    report.check("rows", fmt::format("{}rows of part {}'s pairs", name, p),
                 first_difference(routed.device[p]->row_of_pair.values(), routed.host[p].row_of_pair));
}

void check_moves(Report& report, Routed& routed) {
  const Work work(routed, 16);
  const std::int32_t hidden = routed.sizes.hidden;
  Numbers numbers(5);
  const std::vector<float> y = numbers.floats(area(work.bounds.rows, hidden));
  std::vector<std::uint16_t> xs(area(work.bounds.rows, hidden));
  const Buffer<float> d_y(y);
  const Buffer<std::uint16_t> d_xs(xs.size());
  const Buffer<Part> exact(routed.device_parts(true)), partial(routed.device_parts(false));

  twin::gather_rows(routed.host_parts(true).data(), work.rows.data(), work.counts.data(), work.bounds, hidden,
                    xs.data());
  gather_rows(exact.data(), work.d_rows.data(), work.d_counts.data(), work.bounds, hidden, d_xs.data(), stream());
  report.check("rows", "gather_rows", first_difference(d_xs.values(), xs));
  twin::scatter_rows(routed.host_parts(true).data(), work.rows.data(), work.counts.data(), work.bounds, hidden,
                     y.data());
  scatter_rows(exact.data(), work.d_rows.data(), work.d_counts.data(), work.bounds, hidden, d_y.data(), stream());
  twin::sum_rows(routed.host_parts(false).data(), work.bounds, hidden, y.data());
  sum_rows(partial.data(), work.bounds, hidden, d_y.data(), stream());
  for (std::size_t p = 0; p < routed.host.size(); ++p) {
    report.check("rows", fmt::format("scatter_rows, part {}", p),
                 first_difference(routed.device[p]->out_of_pairs.values(), routed.host[p].out_of_pairs));
    report.check("rows", fmt::format("sum_rows, part {}", p),
                 first_difference(routed.device[p]->out_of_tokens.values(), routed.host[p].out_of_tokens));
  }
}

void check_combine(Report& report, const Sizes& sizes, bool with_shared) {
  constexpr std::int32_t kTokens = 11, kWorkers = 3;
  Numbers numbers(6);
  const std::int32_t hidden = sizes.hidden, top_k = sizes.top_k;
  const std::vector<float> weights = numbers.floats(area(kTokens, top_k));
  const std::vector<float> y = numbers.floats(area(kTokens * std::max(top_k, kWorkers), hidden));
  const std::vector<float> shared = numbers.floats(area(kTokens, hidden));
  const std::vector<float> before = numbers.floats(area(kTokens, hidden));
  const std::vector<std::uint32_t> used = {0b101};
  const Buffer<float> d_weights(weights), d_y(y), d_shared(shared), exact(before), partial(before);
  const Buffer<std::uint32_t> d_used(used);
  const std::string name = with_shared ? " with shared experts" : "";

  std::vector<float> expected = before;
  twin::combine_exact(weights.data(), y.data(), with_shared ? shared.data() : nullptr, kTokens, top_k, hidden,
                      expected.data());
  combine_exact(d_weights.data(), d_y.data(), with_shared ? d_shared.data() : nullptr, kTokens, top_k, hidden,
                exact.data(), stream());
  report.check("rows", "combine_exact" + name, first_difference(exact.values(), expected));
  expected = before;
  twin::combine_partial(y.data(), used.data(), kWorkers, with_shared ? shared.data() : nullptr, kTokens, hidden,
                        expected.data());
  combine_partial(d_y.data(), d_used.data(), kWorkers, with_shared ? d_shared.data() : nullptr, kTokens, hidden,
                  partial.data(), stream());
  report.check("rows", "combine_partial" + name, first_difference(partial.values(), expected));
}

void check_dense(Report& report) {
  constexpr std::int32_t kRows = 101, kTile = 32;
  std::vector<WorkCounts> counts(1);
  std::vector<Tile> tiles(4);
  const Buffer<WorkCounts> d_counts(1);
  const Buffer<Tile> d_tiles(4);
  twin::list_dense(kRows, kTile, counts.data(), tiles.data());
  list_dense(kRows, kTile, d_counts.data(), d_tiles.data(), stream());
  report.check("rows", "list_dense: counts", first_difference(d_counts.values(), counts));
  report.check("rows", "list_dense: tiles", first_difference(d_tiles.values(), tiles));
}

}  // namespace

void check_rows(Context& context) {
  const Sizes& sizes = context.sizes;
  Routed routed(sizes, sizes.tiny ? std::vector<std::int32_t>{9, 4} : std::vector<std::int32_t>{200, 57}, 4);
  for (const std::int32_t tile : {16, 32, 64}) check_listing(context.report, routed, tile);
  check_moves(context.report, routed);
  for (const bool with_shared : {false, true}) check_combine(context.report, sizes, with_shared);
  check_dense(context.report);
}

}  // namespace afore::bench::gpu
