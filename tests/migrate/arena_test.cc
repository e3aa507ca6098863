#include "migrate/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "util/error.h"

namespace afore::migrate {
namespace {

TEST(Arena, SlotsAreAlignedDisjointAndZeroed) {
  Arena arena(1 << 16);
  arena.cut(100);
  EXPECT_EQ(arena.slots(), (1 << 16) / 128);
  for (std::int64_t i = 0; i < arena.slots(); ++i) {
    const auto slot = arena.slot(i);
    ASSERT_EQ(slot.size(), 100u);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(slot.data()) % kSlotAlignBytes, 0u);
    if (i > 0) {
      ASSERT_LE(arena.slot(i - 1).data() + 100, slot.data());
    }
    for (const std::byte b : slot) ASSERT_EQ(b, std::byte{0});
  }
  EXPECT_THROW(arena.slot(arena.slots()), Error);
  EXPECT_THROW(arena.slot(-1), Error);
}

TEST(Arena, ASlotAsLargeAsTheArenaFits) {
  Arena arena(100);
  arena.cut(100);
  EXPECT_EQ(arena.slots(), 1);
  EXPECT_EQ(arena.slot(0).size(), 100u);
  EXPECT_THROW(arena.cut(101), Error);
  EXPECT_THROW(arena.cut(0), Error);
  EXPECT_THROW(Arena(0), Error);
}

TEST(Arena, MovesWithItsMemory) {
  Arena first(1 << 12);
  first.cut(64);
  first.slot(3)[0] = std::byte{7};
  const std::byte* const memory = first.slot(3).data();
  const Arena second(std::move(first));
  EXPECT_EQ(second.slots(), (1 << 12) / 64);
  EXPECT_EQ(second.slot(3).data(), memory);
  EXPECT_EQ(second.slot(3)[0], std::byte{7});
  EXPECT_THROW(second.slot(second.slots()), Error);
  EXPECT_THROW(second.slot(-1), Error);
  EXPECT_EQ(first.slots(), 0);  // NOLINT(bugprone-use-after-move): what is left is empty
}

TEST(Arena, RefusalIsAnIoErrorThatNamesTheSize) {
  try {
    Arena arena(std::int64_t{1} << 62);
    FAIL() << "the system gave 4 EiB";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(std::string(error.what()).find("4611686018427387904"), std::string::npos);
  }
}

TEST(Memory, SomeIsAvailable) { EXPECT_GT(available_memory_bytes(), 1 << 20); }

}  // namespace
}  // namespace afore::migrate
