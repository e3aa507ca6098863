// The grouped FFN against its twin.
#include "kernels/expert_ffn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bounds.h"
#include "memory.h"
#include "support.h"

namespace afore::kernels {
namespace {

constexpr std::uint16_t kUntouched = 0x1234;

std::size_t size_of(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }

// Slots of experts, between which there are no numbers; the last one ends where memory does.
struct Experts {
  ExpertArena arena;
  Memory<std::uint16_t> memory;

  Experts(std::int32_t slots, std::int32_t hidden, std::int32_t intermediate, std::uint64_t seed)
      : arena{nullptr, (expert_bytes(hidden, intermediate) / 256 + 1) * 256, hidden, intermediate},
        memory(size_of(slots - 1, arena.slot_bytes / 2) + size_of(3 * hidden, intermediate), kBf16NaN) {
    arena.base = reinterpret_cast<const std::byte*>(memory.data());
    Numbers numbers(seed);
    for (std::int32_t s = 0; s < slots; ++s) {
      const auto values = numbers.bf16s(size_of(3 * hidden, intermediate), 2 / std::sqrt(static_cast<float>(hidden)));
      std::copy(values.begin(), values.end(), memory.data() + s * arena.slot_bytes / 2);
    }
  }
  const std::uint16_t* gate(std::int32_t slot) const { return memory.data() + slot * arena.slot_bytes / 2; }
  const std::uint16_t* up(std::int32_t slot) const {
    return gate(slot) + std::int64_t{arena.hidden} * arena.intermediate;
  }
  const std::uint16_t* down(std::int32_t slot) const {
    return gate(slot) + std::int64_t{2} * arena.hidden * arena.intermediate;
  }
};

// Tiles of so many rows of each slot, and after them some that must not be run.
struct Tiles {
  std::vector<Tile> tiles;
  WorkCounts counts;
  std::int32_t most;

  Tiles(const std::vector<std::int32_t>& rows_of_slots, std::int32_t tile_tokens) {
    for (std::size_t s = 0; s < rows_of_slots.size(); ++s)
      for (std::int32_t left = rows_of_slots[s]; left > 0; left -= tile_tokens) {
        const std::int32_t rows = std::min(left, tile_tokens);
        tiles.push_back({static_cast<std::int32_t>(s), counts.rows, rows});
        counts.rows += rows;
      }
    counts.tiles = static_cast<std::int32_t>(tiles.size());
    tiles.resize(tiles.size() + 2, Tile{0, 0, 1});
    most = counts.tiles + 2;
  }
};

void expect_h(const Experts& experts, const Tiles& work, const Memory<std::uint16_t>& xs,
              const Memory<std::uint16_t>& h, const Memory<std::uint16_t>& expected) {
  const std::int64_t hidden = experts.arena.hidden, intermediate = experts.arena.intermediate;
  for (std::int32_t t = 0; t < work.counts.tiles; ++t) {
    const Tile& tile = work.tiles[static_cast<std::size_t>(t)];
    for (std::int64_t r = tile.row; r < tile.row + tile.rows; ++r)
      for (std::int64_t i = 0; i < intermediate; ++i) {
        const std::uint16_t *x = xs.data() + r * hidden, *gate = experts.gate(tile.slot) + i * hidden,
                            *up = experts.up(tile.slot) + i * hidden;
        const double bound = gate_up_bound(x, gate, up, hidden);
        const std::size_t at = size_of(r, intermediate) + static_cast<std::size_t>(i);
        ASSERT_NEAR(float_of(h[at]), float_of(expected[at]), bound) << "row " << r << " column " << i;
      }
  }
}

void expect_sums(const std::uint16_t* x, const std::uint16_t* w, std::int64_t rows, std::int64_t n, std::int64_t k,
                 const float* y, const float* expected) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_NEAR(y[r * n + i], expected[r * n + i], product_bound(x + r * k, w + i * k, k))
          << "row " << r << " column " << i;
}

void expect_twins_ffn(const Experts& experts, const std::vector<std::int32_t>& rows_of_slots,
                      std::int32_t tile_tokens) {
  const Tiles work(rows_of_slots, tile_tokens);
  const ExpertArena& arena = experts.arena;
  const Memory<std::uint16_t> xs(Numbers(9).bf16s(size_of(work.counts.rows, arena.hidden)));
  Memory<std::uint16_t> expected_h(size_of(work.counts.rows, arena.intermediate));
  Memory<float> expected_y(size_of(work.counts.rows, arena.hidden));
  twin::expert_gate_up(arena, xs.data(), work.tiles.data(), &work.counts, expected_h.data());
  twin::expert_down(arena, expected_h.data(), work.tiles.data(), &work.counts, expected_y.data());
  std::vector<std::uint16_t> first_h;
  std::vector<float> first_y;
  for_schedules([&] {
    Memory<std::uint16_t> h(expected_h.size(), kUntouched);
    Memory<float> y(expected_y.size(), kNaN);
    expert_gate_up(arena, xs.data(), work.tiles.data(), &work.counts, work.most, tile_tokens, h.data(), nullptr);
    expert_down(arena, expected_h.data(), work.tiles.data(), &work.counts, work.most, tile_tokens, y.data(), nullptr);
    if (!first_h.empty()) {  // every schedule's bits are the first one's, which were compared
      EXPECT_TRUE(same_bytes(h, first_h));
      EXPECT_TRUE(same_bytes(y, first_y));
      return;
    }
    first_h = h.values();
    first_y = y.values();
    expect_h(experts, work, xs, h, expected_h);
    for (std::int32_t t = 0; t < work.counts.tiles; ++t) {
      const Tile& tile = work.tiles[static_cast<std::size_t>(t)];
      expect_sums(expected_h.data() + std::int64_t{tile.row} * arena.intermediate, experts.down(tile.slot), tile.rows,
                  arena.hidden, arena.intermediate, y.data() + std::int64_t{tile.row} * arena.hidden,
                  expected_y.data() + std::int64_t{tile.row} * arena.hidden);
    }
  });
}

class ExpertFfn : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(prepare_expert_ffn(), cudaSuccess); }
};

TEST_F(ExpertFfn, IsItsTwins) {
  for (const auto& [hidden, intermediate] : {std::pair{8, 8}, {64, 64}, {136, 72}}) {
    const Experts experts(4, hidden, intermediate, 1);
    for (const std::int32_t tile_tokens : {16, 32, 64}) {
      SCOPED_TRACE(testing::Message() << hidden << " x " << intermediate << ", tiles of " << tile_tokens);
      expect_twins_ffn(experts, {1, 0, tile_tokens + 1, 15}, tile_tokens);
    }
  }
}

// So deep that every stage is filled several times.
TEST_F(ExpertFfn, StagesAreFilledAgain) {
  const Experts wide(2, 520, 72, 2), narrow(2, 72, 520, 2);
  for (const std::int32_t tile_tokens : {16, 32, 64}) {
    expect_twins_ffn(wide, {0, tile_tokens}, tile_tokens);
    expect_twins_ffn(narrow, {0, tile_tokens}, tile_tokens);
  }
}

TEST_F(ExpertFfn, AsDeepAsModelsAre) {
  expect_twins_ffn(Experts(1, 4096, 8, 3), {3}, 16);
  expect_twins_ffn(Experts(1, 8, 4096, 4), {3}, 16);
}

TEST_F(ExpertFfn, OfNoTiles) {
  const Experts experts(1, 64, 64, 1);
  expect_twins_ffn(experts, {0}, 16);
  expert_gate_up(experts.arena, nullptr, nullptr, nullptr, 0, 16, nullptr, nullptr);
  expert_down(experts.arena, nullptr, nullptr, nullptr, 0, 16, nullptr, nullptr);
}

TEST_F(ExpertFfn, OfManyExperts) {
  const Experts experts(256, 16, 8, 5);
  std::vector<std::int32_t> rows(256);
  for (std::size_t s = 0; s < rows.size(); ++s) rows[s] = static_cast<std::int32_t>(s % 5);
  expect_twins_ffn(experts, rows, 16);
}

// Row `row` of `rows` is what `one` is; the others are no numbers, or others.
std::vector<std::uint16_t> among(const std::vector<std::uint16_t>& one, std::int32_t rows, std::int32_t row,
                                 bool numbers) {
  const std::size_t width = one.size();
  std::vector<std::uint16_t> all = numbers
                                       ? Numbers(77).bf16s(static_cast<std::size_t>(rows) * width)
                                       : std::vector<std::uint16_t>(static_cast<std::size_t>(rows) * width, kBf16NaN);
  std::copy(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * width));
  return all;
}

TEST_F(ExpertFfn, RowsDoNotDependOnTheBatch) {
  const std::int32_t hidden = 136, intermediate = 72;
  const Experts experts(3, hidden, intermediate, 6);
  Numbers numbers(7);
  const auto x = numbers.bf16s(static_cast<std::size_t>(hidden)),
             h = numbers.bf16s(static_cast<std::size_t>(intermediate));
  std::vector<std::uint16_t> alone_h(static_cast<std::size_t>(intermediate));
  std::vector<float> alone_y(static_cast<std::size_t>(hidden));
  const Tile alone{2, 0, 1};
  const WorkCounts one{1, 1, 1};
  expert_gate_up(experts.arena, x.data(), &alone, &one, 1, 16, alone_h.data(), nullptr);
  expert_down(experts.arena, h.data(), &alone, &one, 1, 16, alone_y.data(), nullptr);
  for (const std::int32_t tile_tokens : {16, 32, 64})
    for (const std::int32_t row : {0, 7, 8, 31, 66})
      for (const bool others_are_numbers : {false, true}) {
        const Tiles work({3, 0, 67}, tile_tokens);
        const Memory<std::uint16_t> xs(among(x, 70, 3 + row, others_are_numbers)),
            hs(among(h, 70, 3 + row, others_are_numbers));
        Memory<std::uint16_t> out_h(size_of(70, intermediate));
        Memory<float> out_y(size_of(70, hidden));
        expert_gate_up(experts.arena, xs.data(), work.tiles.data(), &work.counts, work.most, tile_tokens, out_h.data(),
                       nullptr);
        expert_down(experts.arena, hs.data(), work.tiles.data(), &work.counts, work.most, tile_tokens, out_y.data(),
                    nullptr);
        EXPECT_TRUE(same_bytes(std::span(out_h.data() + size_of(3 + row, intermediate), alone_h.size()), alone_h))
            << row;
        EXPECT_TRUE(same_bytes(std::span(out_y.data() + size_of(3 + row, hidden), alone_y.size()), alone_y)) << row;
      }
}

// Large gates: silu has the gate's value, or none.
TEST_F(ExpertFfn, GatesFarFromZero) {
  const Experts experts(1, 8, 8, 8);
  for (std::size_t i = 0; i < experts.memory.size(); ++i) const_cast<std::uint16_t&>(experts.memory[i]) = bf16_of(1);
  const Tile tile{0, 0, 2};
  const WorkCounts counts{1, 2, 1};
  std::vector<std::uint16_t> xs(16, bf16_of(16)), h(16);
  std::fill_n(xs.begin() + 8, 8, bf16_of(-16));
  expert_gate_up(experts.arena, xs.data(), &tile, &counts, 1, 16, h.data(), nullptr);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(float_of(h[i]), 128.0f * 128.0f);
    EXPECT_NEAR(float_of(h[8 + i]), 0, 1e-30);
  }
}

void expect_twins_linear(std::int32_t rows, std::int32_t n, std::int32_t k) {
  SCOPED_TRACE(testing::Message() << rows << " x " << k << " by " << n);
  Numbers numbers(11);
  const Memory<std::uint16_t> x(numbers.bf16s(size_of(rows, k))), w(numbers.bf16s(size_of(n, k)));
  std::vector<float> expected(size_of(rows, n));
  twin::linear(x.data(), w.data(), rows, n, k, expected.data());
  for_schedules([&] {
    Memory<float> y(expected.size(), kNaN);
    linear(x.data(), w.data(), rows, n, k, y.data(), nullptr);
    expect_sums(x.data(), w.data(), rows, n, k, y.data(), expected.data());
  });
}

class Linear : public ExpertFfn {};

TEST_F(Linear, IsItsTwins) {
  for (const std::int32_t rows : {0, 1, 16, 17, 32, 33, 64, 65, 130}) expect_twins_linear(rows, 65, 72);
  for (const std::int32_t n : {0, 1, 8, 63, 64, 129}) expect_twins_linear(3, n, 136);
  for (const std::int32_t k : {8, 56, 64, 200, 520}) expect_twins_linear(20, 10, k);
}

TEST_F(Linear, RowsDoNotDependOnTheBatch) {
  const std::int32_t n = 72, k = 264;
  Numbers numbers(12);
  const auto x = numbers.bf16s(static_cast<std::size_t>(k)), w = numbers.bf16s(size_of(n, k));
  std::vector<float> alone(static_cast<std::size_t>(n));
  linear(x.data(), w.data(), 1, n, k, alone.data(), nullptr);
  for (const std::int32_t rows : {2, 16, 17, 33, 65, 129})
    for (const std::int32_t row : {0, rows / 2, rows - 1})
      for (const bool others_are_numbers : {false, true}) {
        const Memory<std::uint16_t> xs(among(x, rows, row, others_are_numbers));
        Memory<float> y(size_of(rows, n));
        linear(xs.data(), w.data(), rows, n, k, y.data(), nullptr);
        EXPECT_TRUE(same_bytes(std::span(y.data() + size_of(row, n), alone.size()), alone)) << row << " of " << rows;
      }
}

}  // namespace
}  // namespace afore::kernels
