#include "util/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace afore {
namespace {

TEST(Rng, SameSeedAndLabelSameStream) {
  Rng a(7, "drift"), b(7, "drift"), other_label(7, "draw"), other_seed(8, "drift");
  int equal_label = 0, equal_seed = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = a.next();
    EXPECT_EQ(value, b.next());
    equal_label += value == other_label.next();
    equal_seed += value == other_seed.next();
  }
  EXPECT_EQ(equal_label, 0);
  EXPECT_EQ(equal_seed, 0);
}

TEST(Rng, BelowIsEvenAndInRange) {
  Rng rng(3);
  std::vector<int> hits(7);
  for (int i = 0; i < 70'000; ++i) ++hits.at(rng.below(7));
  for (const int hit : hits) EXPECT_NEAR(hit, 10'000, 5 * std::sqrt(10'000.0 * 6 / 7));
  EXPECT_EQ(rng.below(1), 0u);
}

TEST(Rng, UniformStaysInTheUnitInterval) {
  Rng rng(4);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);
}

TEST(Rng, NormalMoments) {
  Rng rng(5);
  const int n = 200'000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < n; ++i) {
    const double z = rng.normal();
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / n, 0, 0.012);
  EXPECT_NEAR(squares / n, 1, 0.016);
  EXPECT_NEAR(fourth / n, 3, 0.12);
}

TEST(Rng, LognormalMedian) {
  Rng rng(6);
  int below = 0;
  for (int i = 0; i < 20'000; ++i) below += rng.lognormal(1.0, 2.0) < std::exp(1.0);
  EXPECT_NEAR(below, 10'000, 350);
}

}  // namespace
}  // namespace afore
