// A server runs for weeks: what it holds does not grow with the requests it has served or the steps it took.
#include <gtest/gtest.h>
#include <malloc.h>

#include "fake_runner.h"
#include "host/step_output.h"
#include "pipeline/run_metrics.h"

namespace afore::host {
namespace {

constexpr std::int64_t kSlackBytes = 64 << 10;  // what containers swell and shrink by

std::int64_t bytes_in_use() {
  const auto info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

// Sanitizers have an allocator of their own.
bool can_measure() { return bytes_in_use() > 0; }

// A step takes about as long as six arrivals are apart, and none takes as long as another.
class SteadyRunner final : public BareRunner {
 public:
  Nanos now() const override { return now_ns_; }
  bool wait_sampled(int, const RunLimits&) override {
    now_ns_ += 120'000'000 + (++steps_ % 1013) * 1'000;
    return true;
  }
  void wait_until(Nanos at_ns, const RunLimits&) override { now_ns_ = std::max(now_ns_, at_ns); }

 private:
  Nanos now_ns_ = 0;
  std::int64_t steps_ = 0;
};

TEST(ServingMemory, DoesNotGrowWithRequests) {
  if (!can_measure()) GTEST_SKIP() << "this allocator does not say what is in use";
  constexpr std::int64_t kRequests = 400'000;  // after half of them all latencies are samples
  std::int64_t at_half = 0, at_end = 0;
  SteadyRunner runner;
  ServingLoop loop(plain(2), runner, {});
  FiniteRequests source([&, i = std::int64_t{0}](IncomingRequest& request) mutable {
    if (i == kRequests / 2) at_half = bytes_in_use();
    if (i == kRequests) at_end = bytes_in_use();
    if (i == kRequests) return false;
    request.record = {std::to_string(i), i * 20'000'000, 1 + i % 5, 1 + i % 4, "", 0};
    ++i;
    return true;
  });
  loop.run(source, &kNoSignal);
  Summary s;
  loop.fill(s);
  EXPECT_EQ(s.completed, kRequests);
  EXPECT_EQ(s.ttft.n, kRequests);
  EXPECT_GT(*s.duration, 7'000);  // seconds, of which it kept what there was at once
  EXPECT_GT(*s.max_concurrent_requests, 50);
  EXPECT_LT(at_end - at_half, kSlackBytes);
}

TEST(ServingMemory, RecordsThatNobodyWantsAreNotAwaited) {
  if (!can_measure()) GTEST_SKIP() << "this allocator does not say what is in use";
  StepOutput output;
  std::int64_t before = 0;
  for (std::int64_t step = 0; step < 100'000; ++step) {
    if (step == 1'000) before = bytes_in_use();
    output.begin(step);
    output.end(step, 0, {"a request that ended early"});
    output.release();
  }
  EXPECT_LT(bytes_in_use() - before, kSlackBytes);
}

TEST(ServingMemory, RequestsThatEndEarlyAreNotRemembered) {
  if (!can_measure()) GTEST_SKIP() << "this allocator does not say what is in use";
  pipeline::RunMetrics metrics({1, 1, 0, 4, 1}, {}, pipeline::RunMetrics::Requests::counted_elsewhere);
  std::int64_t before = 0;
  for (std::int64_t step = 0; step < 300'000; ++step) {
    if (step == 150'000) before = bytes_in_use();
    Demand demand;
    demand.target = {step, 1, 0};
    demand.tokens = 1;
    Batch batch;
    batch.step = step;
    batch.sampled = 1;
    batch.admitted = {"request number " + std::to_string(step)};
    metrics.on_target(demand, &batch);
    metrics.on_step_done(step * 1'000 + step % 2, step, 0);  // no gap is the last one
  }
  EXPECT_LT(bytes_in_use() - before, kSlackBytes);
  EXPECT_EQ(metrics.summary().itl.n, 299'999);
  EXPECT_FALSE(metrics.summary().completed);  // whoever counts them says
}

}  // namespace
}  // namespace afore::host
