#include "trace/routing_table.h"

#include <gtest/gtest.h>

#include "util/error.h"

namespace afore::trace {
namespace {

constexpr RoutingShape kShape{.tokens = 2, .layers = 2, .top_k = 2, .experts = 4};

std::string message_of(std::vector<std::uint8_t> ids, const RoutingShape& shape) {
  try {
    RoutingTable table(std::move(ids), shape, "x.ids.u8");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "accepted";
}

TEST(RoutingTable, IsInCOrder) {
  const RoutingTable table(std::vector<std::uint8_t>{0, 1, 2, 3, 3, 0, 1, 2}, kShape, "x");
  EXPECT_EQ(table.experts_of(0, 1)[0], 2);
  EXPECT_EQ(table.experts_of(1, 0)[0], 3);
  EXPECT_EQ(table.experts_of(1, 1)[1], 2);
}

TEST(RoutingTable, NamesTheTokenAndLayerOfABadId) {
  EXPECT_EQ(message_of({0, 1, 2, 3, 3, 0, 1, 4}, kShape), "x.ids.u8: token 1, recorded layer 1: expert 4 of 4");
  EXPECT_EQ(message_of({0, 1, 2, 3, 3, 3, 1, 2}, kShape), "x.ids.u8: token 1, recorded layer 0: expert 3 chosen twice");
}

TEST(RoutingTable, TheLengthMustBeExact) {
  EXPECT_EQ(message_of({0, 1, 2, 3, 3, 0, 1}, kShape), "x.ids.u8: 7 bytes, but 2 tokens x 2 layers x top 2 need 8");
  EXPECT_EQ(message_of({0, 1, 2, 3, 3, 0, 1, 2, 0}, kShape),
            "x.ids.u8: 9 bytes, but 2 tokens x 2 layers x top 2 need 8");
}

TEST(RoutingTable, RefusesImpossibleShapes) {
  for (const RoutingShape& shape : {RoutingShape{1, 1, 1, 257}, RoutingShape{1, 1, 3, 2}, RoutingShape{0, 1, 1, 2},
                                    RoutingShape{1, 0, 1, 2}, RoutingShape{std::int64_t{1} << 50, 1000, 8, 64}})
    EXPECT_NE(message_of({}, shape), "accepted");
}

TEST(RoutingTable, AllByteIdsAreUsable) {
  std::vector<std::uint8_t> ids(256);
  for (int i = 0; i < 256; ++i) ids[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(message_of(ids, {1, 1, 256, 256}), "accepted");
}

}  // namespace
}  // namespace afore::trace
