#include "kernels/vectors.h"

#include <gtest/gtest.h>

#include <vector>

namespace afore::kernels {
namespace {

TEST(Vectors, EmbeddingIsTheTwins) {
  std::vector<std::uint16_t> table(7 * 300);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint16_t>(0x3f00 + i);
  const std::vector<std::int32_t> ids = {3, 0, 6, 6};
  std::vector<float> out(4 * 300, -1), expected(4 * 300);
  embed(table.data(), ids.data(), 4, 300, out.data(), nullptr);
  twin::embed(table.data(), ids.data(), 4, 300, expected.data());
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace afore::kernels
