// Which worker lives on which GPU.
#include <gtest/gtest.h>

#include <set>

#include "device/cuda/topology.h"

namespace afore::device::cuda {
namespace {

using Gpus = std::vector<int>;

TEST(Topology, OneGpuHoldsAll) {
  const Topology t = spread(1, 2, 3);
  EXPECT_EQ(t.ffn, (Gpus{0, 0, 0}));
  EXPECT_EQ(t.attention, (Gpus{0, 0}));
  EXPECT_TRUE(t.shared);
}

TEST(Topology, EnoughForAll) {
  const Topology t = spread(5, 2, 3);
  EXPECT_EQ(t.ffn, (Gpus{0, 1, 2}));
  EXPECT_EQ(t.attention, (Gpus{3, 4}));
  EXPECT_FALSE(t.shared);
}

TEST(Topology, FfnWorkersAreAloneWhileTheyCanBe) {
  const Topology t = spread(4, 3, 3);
  EXPECT_EQ(t.ffn, (Gpus{0, 1, 2}));
  EXPECT_EQ(t.attention, (Gpus{3, 3, 3}));
  EXPECT_TRUE(t.shared);
}

TEST(Topology, TooFewGoRound) {
  const Topology t = spread(2, 2, 3);
  EXPECT_EQ(t.ffn, (Gpus{0, 1, 0}));
  EXPECT_EQ(t.attention, (Gpus{1, 0}));
  EXPECT_EQ(t.ffn_among_its, (Gpus{0, 0, 1}));
  EXPECT_EQ(t.attention_among_its, (Gpus{1, 2}));
  EXPECT_EQ(t.workers_on, (Gpus{3, 2}));
}

TEST(Topology, AlwaysInRangeAndFfnEven) {
  for (int gpus = 1; gpus <= 9; ++gpus)
    for (int attention = 1; attention <= 9; ++attention)
      for (int ffn = 1; ffn <= 9; ++ffn) {
        const Topology t = spread(gpus, attention, ffn);
        ASSERT_EQ(std::ssize(t.attention), attention);
        ASSERT_EQ(std::ssize(t.ffn), ffn);
        std::vector<int> all(static_cast<std::size_t>(gpus), 0), of_ffn(all);
        for (const int gpu : t.ffn) ++all.at(static_cast<std::size_t>(gpu)), ++of_ffn[static_cast<std::size_t>(gpu)];
        for (const int gpu : t.attention) ++all.at(static_cast<std::size_t>(gpu));
        EXPECT_EQ(t.shared, *std::max_element(all.begin(), all.end()) > 1);
        if (gpus > ffn) {
          EXPECT_EQ(*std::max_element(of_ffn.begin(), of_ffn.end()), 1);
        }
        if (gpus >= attention + ffn) {
          EXPECT_FALSE(t.shared);
        }
      }
}

}  // namespace
}  // namespace afore::device::cuda
