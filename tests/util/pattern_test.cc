#include "util/pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace afore {
namespace {

TEST(Pattern, EveryFlippedByteIsCounted) {
  std::vector<std::byte> bytes(1021);  // not a multiple of the word
  const std::span<std::byte> slot(bytes);
  fill_pattern(slot, 7, 3, 1);
  EXPECT_EQ(count_wrong(slot, 7, 3, 1), 0);
  for (std::size_t i = 0; i < slot.size(); ++i) {
    slot[i] ^= std::byte{0x10};
    ASSERT_EQ(count_wrong(slot, 7, 3, 1), 1) << i;
    slot[i] ^= std::byte{0x10};
  }
  slot[0] ^= std::byte{1};
  slot[1] ^= std::byte{1};
  slot[1020] ^= std::byte{1};
  EXPECT_EQ(count_wrong(slot, 7, 3, 1), 3);
}

TEST(Pattern, SeedWorkerAndSlotEachChangeIt) {
  std::vector<std::byte> bytes(4096);
  const std::span<std::byte> slot(bytes);
  fill_pattern(slot, 7, 3, 1);
  // A random byte agrees one time in 256.
  EXPECT_GT(count_wrong(slot, 8, 3, 1), 3900);
  EXPECT_GT(count_wrong(slot, 7, 1, 3), 3900);
  EXPECT_GT(count_wrong(slot, 7, 3, 2), 3900);
}

TEST(Pattern, WeightsAreSmallFiniteNumbers) {
  std::vector<std::uint16_t> weights(999);
  fill_pattern(std::as_writable_bytes(std::span(weights)), 7, 3, 1, PatternKind::weights);
  EXPECT_EQ(count_wrong(std::as_bytes(std::span(weights)), 7, 3, 1, PatternKind::weights), 0);
  int negative = 0;
  for (const std::uint16_t bits : weights) {
    EXPECT_EQ(bits & 0x7f80, 0x3d00);
    negative += bits >> 15;
  }
  EXPECT_GT(negative, 400);
  EXPECT_LT(negative, 600);
}

}  // namespace
}  // namespace afore
