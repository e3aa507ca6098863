#include <algorithm>
#include <mutex>

#include "bench/gpu/context.h"
#include "bench/gpu/experts.h"
#include "tests/kernels/bounds.h"

namespace afore::bench::gpu {
namespace {

using namespace kernels;

// The first complaint of any row, in the order of rows.
class Complaints {
 public:
  void add(std::int64_t row, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (text.empty() || (!first_.empty() && row_ <= row)) return;
    row_ = row;
    first_ = fmt::format("row {}: {}", row, text);
  }
  const std::string& first() const { return first_; }

 private:
  std::mutex mutex_;
  std::int64_t row_ = 0;
  std::string first_;
};

template <class T>
std::vector<T> row_of(const std::vector<T>& all, std::int64_t row, std::int64_t columns) {
  return {all.begin() + row * columns, all.begin() + (row + 1) * columns};
}

// Tiles of the twin are single rows, so that every processor has some.
void for_rows(const ExpertWork& work, const std::function<void(const Tile& one_row)>& f) {
  std::vector<Tile> rows;
  for (const Tile& tile : work.tiles)
    for (std::int32_t r = 0; r < tile.rows; ++r) rows.push_back({tile.slot, tile.row + r, 1});
  parallel_for(std::ssize(rows), [&](std::int64_t i) { f(rows[static_cast<std::size_t>(i)]); });
}

std::string gate_up_difference(const HostExperts& experts, const ExpertWork& work, const std::vector<std::uint16_t>& xs,
                               const std::vector<std::uint16_t>& got) {
  const std::int64_t hidden = experts.arena.hidden, intermediate = experts.arena.intermediate;
  std::vector<std::uint16_t> expected(got.size());
  constexpr WorkCounts kOne{.shares = 1, .rows = 1, .tiles = 1};
  Complaints complaints;
  for_rows(work, [&](const Tile& tile) {
    twin::expert_gate_up(experts.arena, xs.data(), &tile, &kOne, expected.data());
    const std::uint16_t *x = xs.data() + tile.row * hidden, *gate = experts.gate(tile.slot),
                        *up = experts.up(tile.slot);
    complaints.add(tile.row, first_beyond(row_of(got, tile.row, intermediate), row_of(expected, tile.row, intermediate),
                                          [&](std::size_t i) {
                                            const auto at = static_cast<std::int64_t>(i) * hidden;
                                            return gate_up_bound(x, gate + at, up + at, hidden);
                                          }));
  });
  return complaints.first();
}

std::string down_difference(const HostExperts& experts, const ExpertWork& work, const std::vector<std::uint16_t>& h,
                            const std::vector<float>& got) {
  const std::int64_t hidden = experts.arena.hidden, intermediate = experts.arena.intermediate;
  std::vector<float> expected(got.size());
  constexpr WorkCounts kOne{.shares = 1, .rows = 1, .tiles = 1};
  Complaints complaints;
  for_rows(work, [&](const Tile& tile) {
    twin::expert_down(experts.arena, h.data(), &tile, &kOne, expected.data());
    const std::uint16_t *x = h.data() + tile.row * intermediate, *down = experts.down(tile.slot);
    complaints.add(tile.row,
                   first_beyond(row_of(got, tile.row, hidden), row_of(expected, tile.row, hidden), [&](std::size_t i) {
                     return product_bound(x, down + static_cast<std::int64_t>(i) * intermediate, intermediate);
                   }));
  });
  return complaints.first();
}

void check_shape(Report& report, std::int32_t hidden, std::int32_t intermediate,
                 const std::vector<std::int32_t>& rows_of_slots, const std::vector<std::int32_t>& tile_sizes) {
  const HostExperts experts(static_cast<std::int32_t>(rows_of_slots.size()), hidden, intermediate, 8);
  const Buffer<std::uint16_t> memory(experts.memory);
  const ExpertArena arena = experts.on_device(memory);
  for (const std::int32_t tile_tokens : tile_sizes) {
    const ExpertWork work(rows_of_slots, tile_tokens);
    const std::vector<std::uint16_t> xs = Numbers(9).bf16s(area(work.counts.rows, hidden));
    const DeviceWork there(work);
    const Buffer<std::uint16_t> d_xs(xs), h(area(work.counts.rows, intermediate));
    const Buffer<float> y(area(work.counts.rows, hidden));
    expert_gate_up(arena, d_xs.data(), there.tiles.data(), there.counts.data(), work.counts.tiles, tile_tokens,
                   h.data(), stream());
    expert_down(arena, h.data(), there.tiles.data(), there.counts.data(), work.counts.tiles, tile_tokens, y.data(),
                stream());
    const std::vector<std::uint16_t> h_values = h.values();
    const std::string name = fmt::format("{} x {}, tiles of {}", hidden, intermediate, tile_tokens);
    report.check("ffn", "gate_up, " + name, gate_up_difference(experts, work, xs, h_values));
    report.check("ffn", "down, " + name, down_difference(experts, work, h_values, y.values()));
  }
}

void check_linear(Report& report, std::int32_t rows, std::int32_t n, std::int32_t k) {
  Numbers numbers(10);
  const std::vector<std::uint16_t> x = numbers.bf16s(area(rows, k));
  const std::vector<std::uint16_t> w = numbers.bf16s(area(n, k), 2 / std::sqrt(static_cast<float>(k)));
  const Buffer<std::uint16_t> d_x(x), d_w(w);
  const Buffer<float> y(area(rows, n));
  linear(d_x.data(), d_w.data(), rows, n, k, y.data(), stream());
  const std::vector<float> got = y.values();
  std::vector<float> expected(got.size());
  Complaints complaints;
  parallel_for(rows, [&](std::int64_t r) {
    twin::linear(x.data() + r * k, w.data(), 1, n, k, expected.data() + r * n);
    complaints.add(r, first_beyond(row_of(got, r, n), row_of(expected, r, n), [&](std::size_t i) {
                     return product_bound(x.data() + r * k, w.data() + static_cast<std::int64_t>(i) * k, k);
                   }));
  });
  report.check("ffn", fmt::format("linear, {} rows, {} x {}", rows, n, k), complaints.first());
}

}  // namespace

void check_expert_ffn(Context& context) {
  const Sizes& sizes = context.sizes;
  Report& report = context.report;
  check(prepare_expert_ffn(), "preparing the expert FFN");
  // One row, a full tile, one row more, none, several tiles.
  const std::vector<std::int32_t> rows =
      sizes.tiny ? std::vector<std::int32_t>{1, 16, 17, 0, 5} : std::vector<std::int32_t>{1, 16, 17, 0, 70};
  check_shape(report, sizes.hidden, sizes.intermediate, rows, {16, 32, 64});
  check_shape(report, 136, 72, {3, 0, 65}, {16, 64});  // nothing is a multiple of a block's part
  for (const std::int32_t n : {1, 5, 40}) check_linear(report, n, sizes.experts, sizes.hidden);
  check_linear(report, 19, 100, 72);
  if (!sizes.tiny) check_linear(report, 64, 2 * sizes.intermediate, sizes.hidden);
}

}  // namespace afore::bench::gpu
