// Targets made step by step from what has happened take the same time as the same targets from a stream.
#include "harness.h"

namespace afore::host {
namespace {

// Each microbatch's next step begins when its last one is sampled, in the order of the microbatches.
Result simulate_stepwise(const Shape& s, const std::vector<Demand>& stream, int layers) {
  Result result;
  const auto plans = pipeline::live_plans(s.sim.model, s.sim.cluster, s.sim.layer_cost, s.planner,
                                          [](const pipeline::PlannedTarget&) {});
  std::vector<bool> done(s.sim.cluster.microbatches, false);
  SimSink sink;
  sink.observed = [&](const Observed& observed) { result.observed.push_back(observed); };
  sink.step_done = [&](std::int64_t, int microbatch) { done[microbatch] = true; };
  SimHost host(s.sim, *plans, std::move(sink));
  const std::size_t per_layer = done.size();
  const std::size_t per_step = per_layer * static_cast<std::size_t>(layers);
  for (std::size_t begin = 0; begin < stream.size(); begin += per_step) {
    for (std::size_t mb = 0; mb < per_layer; ++mb) {
      if (begin > 0) {
        host.end_step(static_cast<int>(mb));
        while (!done[mb]) EXPECT_TRUE(host.advance());
        done[mb] = false;
      }
      host.enqueue(stream[begin + mb], nullptr, {});
    }
    for (std::size_t i = per_layer; i < per_step; ++i) host.enqueue(stream[begin + i], nullptr, {});
  }
  host.finish();
  result.summary = host.summary();
  return result;
}

TEST(Stepwise, AsFastAsTheStream) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draw draw{seed};
    Shape s = random_shape(draw);
    s.sim.cluster.attention_workers = 1;  // with several, the composer waits for the slowest to have sampled
    const auto stream = random_stream(draw, s, 4, 3, false);
    const Result pushed = simulate(s, stream), stepped = simulate_stepwise(s, stream, 3);
    ASSERT_EQ(pushed.observed.size(), stepped.observed.size()) << s.text();
    for (std::size_t i = 0; i < pushed.observed.size(); ++i)
      ASSERT_EQ(text(pushed.observed[i]), text(stepped.observed[i])) << "seed " << seed << ": " << s.text();
    EXPECT_EQ(pushed.summary.step_ns, stepped.summary.step_ns);
  }
}

TEST(Stepwise, TimeStopsWhereItIsAskedTo) {
  Draw draw{1};
  const Shape s = random_shape(draw);
  const auto plans = pipeline::live_plans(s.sim.model, s.sim.cluster, s.sim.layer_cost, s.planner,
                                          [](const pipeline::PlannedTarget&) {});
  SimHost host(s.sim, *plans, {});
  EXPECT_FALSE(host.advance());
  host.wake_at(70);
  host.wake_at(50);
  EXPECT_TRUE(host.advance());
  EXPECT_EQ(host.now(), 50);
  EXPECT_TRUE(host.advance());
  EXPECT_EQ(host.now(), 70);
  EXPECT_FALSE(host.advance());
  EXPECT_ANY_THROW(host.wake_at(69));
}

}  // namespace
}  // namespace afore::host
