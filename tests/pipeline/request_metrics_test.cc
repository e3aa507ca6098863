#include "pipeline/request_metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "util/error.h"
#include "util/rng.h"

namespace afore::pipeline {
namespace {

constexpr Nanos kMs = 1'000'000;

// Three requests, worked by hand (ms):
//   a: arrives 0, admitted 10, tokens at 100, 130, 170            TTFT 100, gaps 30 40, E2EL 170, TPOT 35
//   b: arrives 50, admitted 60, one token at 250                  TTFT 200, E2EL 200, no TPOT
//   c: arrives 1100, admitted 1100, tokens at 1150, 1250          TTFT 50, gap 100, E2EL 150, TPOT 100
RequestMetrics worked(const ServiceObjectives& objectives) {
  RequestMetrics metrics(objectives);
  for (int i = 0; i < 3; ++i) metrics.on_arrival();
  metrics.on_gap(30 * kMs, false);
  metrics.on_gap(40 * kMs, false);
  metrics.on_completed({0, 10 * kMs, 100 * kMs, 170 * kMs, 7, 3});
  metrics.on_completed({50 * kMs, 60 * kMs, 250 * kMs, 250 * kMs, 8, 1});
  metrics.on_gap(100 * kMs, false);
  metrics.on_completed({1100 * kMs, 1100 * kMs, 1150 * kMs, 1250 * kMs, 9, 2});
  metrics.check(0, 0);
  return metrics;
}

TEST(RequestMetrics, WorkedByHand) {
  Summary s;
  worked({}).fill(s, std::nullopt);
  EXPECT_DOUBLE_EQ(*s.duration, 1.25);
  EXPECT_EQ(s.completed, 3);
  EXPECT_EQ(s.failed, 0);
  EXPECT_EQ(s.total_input_tokens, 24);
  EXPECT_EQ(s.total_output_tokens, 6);
  EXPECT_DOUBLE_EQ(*s.request_throughput, 2.4);
  EXPECT_DOUBLE_EQ(*s.output_throughput, 4.8);
  EXPECT_DOUBLE_EQ(*s.total_token_throughput, 24);
  EXPECT_FALSE(s.request_goodput);
  EXPECT_EQ(s.max_concurrent_requests, 2);  // a and b in second 0, c in second 1
  EXPECT_EQ(s.ttft.n, 3);
  EXPECT_DOUBLE_EQ(*s.ttft.mean, 350.0 / 3);
  EXPECT_DOUBLE_EQ(*s.ttft.median, 100);
  EXPECT_DOUBLE_EQ(*s.ttft.p95, 200);
  EXPECT_FALSE(s.ttft.p99);  // below 100 samples
  EXPECT_EQ(s.itl.n, 3);
  EXPECT_DOUBLE_EQ(*s.itl.mean, 170.0 / 3);
  EXPECT_DOUBLE_EQ(*s.itl.median, 40);
  EXPECT_EQ(s.tpot.n, 2);
  EXPECT_DOUBLE_EQ(*s.tpot.mean, 67.5);
  EXPECT_DOUBLE_EQ(*s.tpot.std, 32.5);
  EXPECT_DOUBLE_EQ(*s.e2el.median, 170);
  EXPECT_DOUBLE_EQ(*s.mean_queue_ms, 20.0 / 3);
  EXPECT_EQ(s.saturation, "STABLE");
}

TEST(RequestMetrics, GoodRequestsMeetEveryLimit) {
  const auto goodput = [](const ServiceObjectives& objectives) {
    Summary s;
    worked(objectives).fill(s, std::nullopt);
    return *s.request_goodput * *s.duration;
  };
  EXPECT_DOUBLE_EQ(goodput({.ttft_ms = 100, .tpot_ms = {}, .e2el_ms = {}}), 2);  // a limit that is met exactly is met
  EXPECT_DOUBLE_EQ(goodput({.ttft_ms = 100, .tpot_ms = 50, .e2el_ms = {}}), 1);
  EXPECT_DOUBLE_EQ(goodput({.ttft_ms = {}, .tpot_ms = 1, .e2el_ms = {}}), 1);  // one token: no TPOT to miss
  EXPECT_DOUBLE_EQ(goodput({.ttft_ms = 200, .tpot_ms = 100, .e2el_ms = 169}), 1);
  EXPECT_DOUBLE_EQ(goodput({.ttft_ms = 10, .tpot_ms = {}, .e2el_ms = {}}), 0);
}

TEST(RequestMetrics, ARunThatIsEndedCountsToItsEnd) {
  Summary s;
  worked({}).fill(s, Nanos{10'000} * kMs);
  EXPECT_DOUBLE_EQ(*s.duration, 10);
  EXPECT_DOUBLE_EQ(*s.request_throughput, 0.3);
}

TEST(RequestMetrics, NoRequests) {
  Summary s;
  RequestMetrics({}).fill(s, std::nullopt);
  EXPECT_EQ(s.injected, 0);
  EXPECT_EQ(s.completed, 0);
  EXPECT_FALSE(s.duration);
  EXPECT_FALSE(s.ttft.mean);
  EXPECT_FALSE(s.mean_queue_ms);
}

TEST(RequestMetrics, LostRequestsAreFound) {
  RequestMetrics metrics({});
  metrics.on_arrival();
  metrics.check(1, 0);
  metrics.check(0, 1);
  EXPECT_THROW(metrics.check(0, 0), Error);
  EXPECT_THROW(metrics.check(1, 1), Error);
  metrics.on_timed_out();
  metrics.check(0, 0);
  EXPECT_THROW(metrics.on_completed({5, 4, 6, 7, 1, 1}), Error);  // admitted before it arrived
}

TEST(RequestMetrics, CancelledOnesAreNeitherCompleteNorFailed) {
  RequestMetrics metrics({});
  metrics.on_arrival();
  metrics.check(0, 1);
  metrics.on_cancelled();
  metrics.check(0, 0);
  metrics.add_unread(5, 4, 3);
  metrics.check(0, 0);
  Summary s;
  metrics.fill(s, std::nullopt);
  EXPECT_EQ(s.injected, 13);
  EXPECT_EQ(s.cancelled, 4);
  EXPECT_EQ(s.rejected, 9);
  EXPECT_EQ(s.failed, 9);
  EXPECT_EQ(s.completed, 0);
}

TEST(RequestMetrics, WhatIsForgottenOfThePastChangesNothing) {
  constexpr Nanos kS = 1'000'000'000;
  Rng rng(3, "requests");
  RequestMetrics whole({}), forgetful({});
  Nanos arrival = 0;
  for (int i = 0; i < 500; ++i) {
    arrival += static_cast<Nanos>(rng.below(2 * kS));
    const Nanos end = arrival + static_cast<Nanos>(rng.below(9 * kS));
    for (RequestMetrics* metrics : {&whole, &forgetful}) {
      metrics->on_arrival();
      metrics->on_completed({arrival, arrival, arrival, end, 1, 1});
    }
    if (rng.below(3) == 0) forgetful.forget_before(arrival);  // the next one arrives then at the earliest
  }
  Summary expected, seen;
  whole.fill(expected, std::nullopt);
  forgetful.fill(seen, std::nullopt);
  EXPECT_GT(*expected.max_concurrent_requests, 5);
  EXPECT_EQ(seen.max_concurrent_requests, expected.max_concurrent_requests);
}

TEST(RequestMetrics, Saturation) {
  const auto level = [](int completed, int rejected, Nanos queue_ns) {
    RequestMetrics metrics({});
    for (int i = 0; i < completed + rejected; ++i) metrics.on_arrival();
    for (int i = 0; i < completed; ++i) metrics.on_completed({0, queue_ns, 100, 100, 1, 1});
    for (int i = 0; i < rejected; ++i) metrics.on_rejected(true);
    Summary s;
    metrics.fill(s, std::nullopt);
    return s.saturation;
  };
  EXPECT_EQ(level(100, 1, 10), "STABLE");
  EXPECT_EQ(level(98, 1, 10), "OVERLOADED");  // 1 of 99 is over 1 %
  EXPECT_EQ(level(100, 0, 11), "BACKLOGGED");
}

TEST(Latencies, WeightsAreSamples) {
  Latencies latencies;
  latencies.add(1e6, 98);
  latencies.add(2e6);
  EXPECT_FALSE(latencies.summary().p99);
  latencies.add(9e6);
  const LatencySummary s = latencies.summary();
  EXPECT_EQ(s.n, 100);
  EXPECT_DOUBLE_EQ(*s.median, 1);
  EXPECT_DOUBLE_EQ(*s.p99, 2);
  EXPECT_DOUBLE_EQ(*s.mean, 1.09);
}

// The latencies 0, 1, ... n - 1 ms in a fixed disorder.
Latencies disordered(std::int64_t n, std::int64_t each = 1) {
  Latencies latencies;
  for (std::int64_t i = 0; i < n; ++i) latencies.add(static_cast<double>(i * 7'919 % n) * kMs, each);
  return latencies;
}

TEST(Latencies, UpToTheBoundAllCount) {
  const auto n = static_cast<std::int64_t>(Latencies::kMost);
  const LatencySummary s = disordered(n).summary();
  EXPECT_EQ(s.n, n);
  EXPECT_DOUBLE_EQ(*s.mean, static_cast<double>(n - 1) / 2);
  const std::int64_t half = n / 2;
  EXPECT_EQ(*s.median, static_cast<double>(half - 1));
  EXPECT_EQ(*s.p99, std::ceil(0.99 * static_cast<double>(n)) - 1);
}

// Beyond, ranks of a sample of 131,072 are off by 0.14 % (one standard deviation of the median's), here three of them.
TEST(Latencies, BeyondTheBoundQuantilesAreThoseOfASample) {
  for (const std::int64_t each : {1, 5}) {
    constexpr std::int64_t kN = 1'000'003;  // a prime: the disorder has each once
    const LatencySummary s = disordered(kN, each).summary();
    EXPECT_EQ(s.n, kN * each);
    EXPECT_NEAR(*s.mean, (kN - 1) / 2.0, 1e-3);
    EXPECT_NEAR(*s.std, kN / std::sqrt(12.0), 1e-3);
    EXPECT_NEAR(*s.median, 0.5 * kN, 0.0042 * kN);
    EXPECT_NEAR(*s.p95, 0.95 * kN, 0.0019 * kN);
    EXPECT_NEAR(*s.p99, 0.99 * kN, 0.0009 * kN);
    const LatencySummary again = disordered(kN, each).summary();
    EXPECT_EQ(s.median, again.median);
    EXPECT_EQ(s.p99, again.p99);
  }
}

// A server's: of all, from the first one on. While they fit, all count.
TEST(Latencies, ASampleFromTheStart) {
  constexpr std::int64_t kN = 1'000'003, kSample = 8192;
  Latencies latencies(kSample);
  EXPECT_EQ(latencies.summary().n, 0);
  for (std::int64_t i = 0; i < kSample; i += 2) latencies.add(static_cast<double>(i) * kMs, 2);
  constexpr std::int64_t kHalf = kSample / 2;
  EXPECT_EQ(*latencies.summary().median, static_cast<double>(kHalf - 2));  // the greatest of the lower half
  latencies = Latencies(kSample);
  for (std::int64_t i = 0; i < kN; ++i) latencies.add(static_cast<double>(i * 7'919 % kN) * kMs);
  const LatencySummary s = latencies.summary();
  EXPECT_EQ(s.n, kN);
  EXPECT_NEAR(*s.mean, (kN - 1) / 2.0, 1e-3);
  EXPECT_NEAR(*s.std, kN / std::sqrt(12.0), 1e-3);
  EXPECT_NEAR(*s.median, 0.5 * kN, 0.017 * kN);
  EXPECT_NEAR(*s.p99, 0.99 * kN, 0.0034 * kN);
}

// Those before the bound, those behind it, and many at once: 3 % more of one than of the other decide the median.
TEST(Latencies, TheSampleIsFair) {
  constexpr auto kMost = static_cast<std::int64_t>(Latencies::kMost);
  for (const std::int64_t early : {47, 53})
    for (const bool at_once : {false, true}) {
      Latencies latencies;
      for (std::int64_t i = 0; i < kMost; ++i) latencies.add(static_cast<double>(i % 2) * kMs, early);
      const std::int64_t late = 100 - early;
      if (at_once) latencies.add(5.0 * kMs, kMost * late);
      else
        for (std::int64_t i = 0; i < kMost; ++i) latencies.add(static_cast<double>(4 + i % 2) * kMs, late);
      const LatencySummary s = latencies.summary();
      EXPECT_EQ(s.n, 100 * kMost);
      if (early > late) EXPECT_LT(*s.median, 2);
      else EXPECT_GT(*s.median, 2);
    }
}

}  // namespace
}  // namespace afore::pipeline
