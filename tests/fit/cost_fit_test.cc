#include "fit/cost_fit.h"

#include <gtest/gtest.h>

#include <vector>

#include "util/error.h"

namespace afore::fit {
namespace {

TEST(CopyFit, FindsTheLineItWasMadeFrom) {
  std::vector<MeasuredCopy> copies;
  for (std::int64_t size = 1 << 16; size <= 1 << 26; size *= 2)
    copies.push_back({size, 1500 + 0.25 * static_cast<double>(size)});
  const CopyFit fit = fit_copies(copies);
  EXPECT_EQ(fit.latency_ns, 1500);
  EXPECT_NEAR(fit.bytes_per_s, 4e9, 1);
  EXPECT_NEAR(fit.quality.worst_error, 0, 1e-9);
  EXPECT_NEAR(fit.quality.r2, 1, 1e-12);
  EXPECT_EQ(fit.quality.points, 11);
  EXPECT_TRUE(fit.quality.held.empty());
}

TEST(CopyFit, ANegativeLatencyIsHeldAtZeroAndNamed) {
  // Faster than the line at small sizes (they fit a cache): the intercept would be below zero.
  const CopyFit fit = fit_copies(std::vector<MeasuredCopy>{{1000, 100}, {2000, 400}, {4000, 1000}});
  EXPECT_EQ(fit.latency_ns, 0);
  EXPECT_GT(fit.bytes_per_s, 0);
  EXPECT_GT(fit.quality.worst_error, 0);
  EXPECT_EQ(fit.quality.held, std::vector<std::string>{"copy_latency_ns"});
}

TEST(CopyFit, TimesThatShrinkWithSizeAreRefused) {
  try {
    // The only non-negative line through these is level.
    fit_copies(std::vector<MeasuredCopy>{{1000, 1000}, {2000, 500}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::answer_no);
  }
}

std::vector<MeasuredFfn> grid(double c0, double c1, double c2) {
  std::vector<MeasuredFfn> runs;
  for (const std::int64_t activated : {1, 2, 4, 8})
    for (const std::int64_t tiles : {1, 2, 4})
      runs.push_back({activated * tiles, activated,
                      c0 + c1 * static_cast<double>(activated * tiles) + c2 * static_cast<double>(activated)});
  return runs;
}

TEST(FfnFit, FindsTheCoefficientsItWasMadeFrom) {
  const FfnFit fit = fit_ffn(grid(7000, 1200, 34000));
  EXPECT_EQ(fit.c0_ns, 7000);
  EXPECT_EQ(fit.c1_ns, 1200);
  EXPECT_EQ(fit.c2_ns, 34000);
  EXPECT_NEAR(fit.quality.r2, 1, 1e-12);
  EXPECT_EQ(fit.quality.points, 12);
  EXPECT_TRUE(fit.quality.held.empty());
}

TEST(FfnFit, CoefficientsBelowTheirBoundsAreHeldAndNamed) {
  const FfnFit fit = fit_ffn(grid(-500, 1200, 34000));
  EXPECT_EQ(fit.c0_ns, 0);
  EXPECT_EQ(fit.quality.held, std::vector<std::string>{"ffn_c0_ns"});
  EXPECT_GT(fit.quality.worst_error, 0);
  EXPECT_GE(fit.quality.worst_error, fit.quality.p95_error);
  const FfnFit no_experts = fit_ffn(grid(7000, 1200, -100));
  EXPECT_EQ(no_experts.c2_ns, 1);
  EXPECT_EQ(no_experts.quality.held, std::vector<std::string>{"ffn_c2_ns"});
}

TEST(FfnFit, LevelTimesAreRefused) {
  try {
    fit_ffn(grid(7000, -1, -1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::answer_no);
  }
}

}  // namespace
}  // namespace afore::fit
