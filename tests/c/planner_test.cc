// Planning by hand and by hostile callers: what comes out, what is refused, and that a refusal changes nothing.
#include <cstring>
#include <limits>
#include <thread>

#include "engine.h"

namespace afore::c {
namespace {

using testing::config_of;
using testing::empty_plan;
using testing::PlannerPtr;
using testing::text;

constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();

// 4 experts on 2 workers, a free slot each, tiles of 10 tokens; a tile 100 ns, an expert 10 ns, a copy 50 ns.
afore_config small() {
  afore_config config = config_of(nullptr, 2);
  config.experts = 4;
  config.top_k = 1;
  config.redundant_slots = 1;
  config.tile_tokens = 10;
  config.c0_ns = 0;
  config.c1_ns = 100;
  config.c2_ns = 10;
  config.copy_ns = 50;
  config.policy = "paper";
  return config;
}

struct PlannerTest : ::testing::Test {
  int plan(std::vector<std::int64_t> counts, std::int64_t tokens, std::int64_t window_ns = 50) {
    return afore_planner_plan(planner.get(), step++, 0, 0, tokens, counts.data(), window_ns, &out);
  }

  PlannerPtr planner = testing::make_planner(small());
  afore_plan out = empty_plan();
  std::int64_t step = 0;
};

// By hand: experts 0 and 1 with 40 and 20 tokens on worker 0 take 6 tiles and 2 experts, 620 ns, and worker 1 nothing.
// With a copy of expert 0 on worker 1 that takes 3 of its 4 tiles, 320 and 310 ns.
TEST_F(PlannerTest, ASmallTargetByHand) {
  ASSERT_EQ(plan({40, 20, 0, 0}, 60), AFORE_OK) << text(planner.get());
  EXPECT_EQ(out.experts, 4);
  EXPECT_EQ(out.workers, 2);
  EXPECT_EQ(out.slots_per_worker, 3);
  EXPECT_EQ(out.tokens, 60);
  ASSERT_EQ(out.copy_count, 1);
  EXPECT_EQ(out.copies[0].expert, 0);
  EXPECT_EQ(out.copies[0].from, 0);
  EXPECT_EQ(out.copies[0].to, 1);
  EXPECT_EQ(out.copies[0].slot, 2);
  ASSERT_EQ(out.share_count, 3);
  EXPECT_EQ(out.shares[0].tiles, 1);
  EXPECT_EQ(out.shares[0].tokens, 10);
  EXPECT_EQ(out.shares[1].worker, 1);
  EXPECT_EQ(out.shares[1].tiles, 3);
  EXPECT_EQ(out.shares[1].tokens, 30);
  EXPECT_EQ(out.tile_load[0], 3);
  EXPECT_EQ(out.tile_load[1], 3);
  EXPECT_EQ(out.ffn_ns_before, 620);
  EXPECT_EQ(out.ffn_ns, 320);
  EXPECT_EQ(out.migration_ns, 50);
  EXPECT_EQ(out.window_ns, 50);
  EXPECT_EQ(out.exposed_ns, 0);
  EXPECT_EQ(out.gain_ns, 300);
  std::int32_t map[6];
  ASSERT_EQ(afore_placement_get(planner.get(), 0, map, 6), 6);
  EXPECT_EQ((std::vector<std::int32_t>(map, map + 6)), (std::vector<std::int32_t>{0, 1, -1, 2, 3, 0}));
  ASSERT_EQ(plan({40, 20, 0, 0}, 60), AFORE_OK);
  EXPECT_EQ(out.copy_count, 0);
  EXPECT_EQ(out.seq, 1);
  EXPECT_EQ(out.ffn_ns, 320);
}

// The window is of the call: a copy that nothing hides costs what it takes.
TEST_F(PlannerTest, TheWindowIsOfTheCall) {
  ASSERT_EQ(plan({40, 20, 0, 0}, 60, 0), AFORE_OK);
  EXPECT_EQ(out.window_ns, 0);
  EXPECT_EQ(out.exposed_ns, 50);
  EXPECT_EQ(out.gain_ns, 250);
  ASSERT_EQ(plan({0, 20, 40, 0}, 60, -1), AFORE_OK);  // one microbatch: nothing hides it
  EXPECT_EQ(out.window_ns, 0);
}

TEST_F(PlannerTest, CountsOf32BitsAreTheSame) {
  const PlannerPtr other = testing::make_planner(config_of("afore-tiny", 4));
  const PlannerPtr wide = testing::make_planner(config_of("afore-tiny", 4));
  Rng rng(1);
  for (int round = 0; round < 20; ++round) {
    const auto counts = testing::draw_counts<std::int32_t>(rng, 32, 4, 200);
    const std::vector<std::int64_t> counts64(counts.begin(), counts.end());
    afore_plan a = empty_plan(), b = empty_plan();
    ASSERT_EQ(afore_planner_plan_i32(other.get(), round, 1, 0, 200, counts.data(), 0, &a), AFORE_OK);
    ASSERT_EQ(afore_planner_plan(wide.get(), round, 1, 0, 200, counts64.data(), 0, &b), AFORE_OK);
    ASSERT_EQ(a.share_count, b.share_count);
    ASSERT_GT(a.share_count, 0);
    EXPECT_EQ(std::memcmp(a.shares, b.shares, sizeof(afore_share) * static_cast<std::size_t>(a.share_count)), 0);
    EXPECT_EQ(a.copy_count, b.copy_count);
    EXPECT_EQ(a.ffn_ns, b.ffn_ns);
  }
}

TEST_F(PlannerTest, NullsAreArguments) {
  const std::int64_t counts[4] = {1, 0, 0, 0};
  afore_planner* none = nullptr;
  EXPECT_EQ(afore_planner_plan(none, 0, 0, 0, 1, counts, 0, &out), AFORE_E_ARGUMENT);
  EXPECT_EQ(text(nullptr), "planner is null");
  EXPECT_EQ(afore_planner_plan(planner.get(), 0, 0, 0, 1, nullptr, 0, &out), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_planner_plan_i32(planner.get(), 0, 0, 0, 1, nullptr, 0, &out), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_planner_plan(planner.get(), 0, 0, 0, 1, counts, 0, nullptr), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_planner_plan_bytes(none), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_placement_get(none, 0, nullptr, 0), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_placement_set(none, 0, nullptr, 0), AFORE_E_ARGUMENT);
  for (const std::uint32_t size : {0u, 8u, 5000u}) {
    out.struct_size = size;
    EXPECT_EQ(plan({1, 0, 0, 0}, 1), AFORE_E_ARGUMENT) << size;
  }
}

// Each refusal is one line with its place, and the planner goes on as if it had not been asked.
TEST_F(PlannerTest, RefusalsChangeNothing) {
  const PlannerPtr untouched = testing::make_planner(small());
  ASSERT_EQ(plan({40, 20, 0, 0}, 60), AFORE_OK);
  const auto refused = [&](std::int64_t at, int layer, int microbatch, std::int64_t tokens,
                           std::vector<std::int64_t> counts, std::int64_t window_ns = 0) {
    afore_plan untold = empty_plan();
    const afore_plan before = untold;
    const int status =
        afore_planner_plan(planner.get(), at, layer, microbatch, tokens, counts.data(), window_ns, &untold);
    EXPECT_EQ(std::memcmp(&untold, &before, sizeof before), 0);
    EXPECT_EQ(text(planner.get()).find('\n'), std::string::npos);
    EXPECT_FALSE(text(planner.get()).empty());
    return status;
  };
  EXPECT_EQ(refused(0, 0, 0, 60, {40, 19, 0, 0}), AFORE_E_DATA);
  EXPECT_EQ(text(planner.get()),
            "step 0 layer 0 microbatch 0: the counts add up to 59, not to 60 tokens * 1; counts are of all workers "
            "together; config: top_k");
  EXPECT_EQ(refused(0, 0, 0, 60, {61, -1, 0, 0}), AFORE_E_DATA);
  EXPECT_EQ(refused(0, 0, 0, 60, {kMost64, kMost64, 2, 60}), AFORE_E_DATA);
  EXPECT_EQ(refused(0, 0, 0, kMost64, {kMost64, 0, 0, 0}), AFORE_E_DATA);
  EXPECT_EQ(refused(0, 0, 0, -1, {0, 0, 0, 0}), AFORE_E_DATA);
  EXPECT_EQ(refused(-1, 0, 0, 1, {1, 0, 0, 0}), AFORE_E_DATA);
  EXPECT_EQ(refused(kMost64, 0, 0, 1, {1, 0, 0, 0}), AFORE_E_DATA);
  EXPECT_EQ(refused(0, -1, 0, 1, {1, 0, 0, 0}), AFORE_E_DATA);
  EXPECT_EQ(refused(0, std::numeric_limits<int>::max(), 0, 1, {1, 0, 0, 0}), AFORE_E_DATA);
  EXPECT_EQ(refused(0, 0, 1, 1, {1, 0, 0, 0}), AFORE_E_DATA);
  EXPECT_EQ(refused(0, 0, -1, 1, {1, 0, 0, 0}), AFORE_E_DATA);
  EXPECT_EQ(refused(0, 0, 0, 1, {1, 0, 0, 0}, -2), AFORE_E_ARGUMENT);
  EXPECT_EQ(refused(0, 0, 0, 1, {1, 0, 0, 0}, kMost64), AFORE_E_ARGUMENT);
  // Times beyond 64 bits are the planner's own refusal.
  afore_config slow = small();
  slow.c1_ns = slow.c2_ns = 1'000'000'000;
  slow.tile_tokens = 1;
  slow.ffn_workers = 4;
  const PlannerPtr huge = testing::make_planner(slow);
  const std::int64_t most = std::int64_t{1} << 31;
  const std::int64_t counts[4] = {most, 0, 0, 0};
  EXPECT_EQ(afore_planner_plan(huge.get(), 0, 0, 0, most, counts, 0, &out), AFORE_E_DATA);
  EXPECT_NE(text(huge.get()).find("beyond any batch"), std::string::npos) << text(huge.get());
  const std::int64_t one[4] = {1, 0, 0, 0};
  EXPECT_EQ(afore_planner_plan(huge.get(), 0, 0, 0, 1, one, 0, &out), AFORE_OK);

  afore_plan clean = empty_plan();
  const std::int64_t first[4] = {40, 20, 0, 0}, second[4] = {10, 10, 30, 30};
  ASSERT_EQ(afore_planner_plan(untouched.get(), 0, 0, 0, 60, first, 50, &clean), AFORE_OK);
  ASSERT_EQ(afore_planner_plan(untouched.get(), 1, 0, 0, 80, second, 50, &clean), AFORE_OK);
  ASSERT_EQ(afore_planner_plan(planner.get(), 1, 0, 0, 80, second, 50, &out), AFORE_OK);
  EXPECT_EQ(out.seq, clean.seq);
  EXPECT_EQ(out.ffn_ns, clean.ffn_ns);
  EXPECT_EQ(out.copy_count, clean.copy_count);
}

TEST_F(PlannerTest, OnlyLayersOfTheConfig) {
  const PlannerPtr tiny = testing::make_planner(config_of("afore-tiny", 4));  // MoE layers 1 to 4
  Rng rng(2);
  const auto counts = testing::draw_counts<std::int64_t>(rng, 32, 4, 100);
  EXPECT_EQ(afore_planner_plan(tiny.get(), 0, 0, 0, 100, counts.data(), 0, &out), AFORE_E_DATA);
  EXPECT_EQ(afore_planner_plan(tiny.get(), 0, 5, 0, 100, counts.data(), 0, &out), AFORE_E_DATA);
  EXPECT_EQ(afore_planner_plan(tiny.get(), 0, 4, 0, 100, counts.data(), 0, &out), AFORE_OK);
}

TEST_F(PlannerTest, ATargetWithoutTokens) {
  ASSERT_EQ(plan({0, 0, 0, 0}, 0), AFORE_OK) << text(planner.get());
  EXPECT_EQ(out.share_count, 0);
  EXPECT_EQ(out.copy_count, 0);
  EXPECT_EQ(out.max_tile_load, 0);
}

// The plan of a caller whose header ends earlier: nothing is written behind what it knows.
TEST_F(PlannerTest, AnOlderPlanEndsEarlier) {
  constexpr std::uint32_t kOlder = offsetof(afore_plan, completion_ns);
  out.struct_size = kOlder;
  out.completion_ns = 0x5a5a5a5a;
  ASSERT_EQ(plan({40, 20, 0, 0}, 60), AFORE_OK);
  EXPECT_EQ(out.struct_size, kOlder);
  EXPECT_EQ(out.completion_ns, 0x5a5a5a5a);
  EXPECT_EQ(out.ffn_ns, 320);
}

TEST_F(PlannerTest, ANewerPlanIsFilledWithZeros) {
  struct Newer {
    afore_plan plan;
    std::int64_t more;
  } newer{empty_plan(), 77};
  newer.plan.struct_size = sizeof newer;
  const std::int64_t counts[4] = {40, 20, 0, 0};
  ASSERT_EQ(afore_planner_plan(planner.get(), 0, 0, 0, 60, counts, 50, &newer.plan), AFORE_OK);
  EXPECT_EQ(newer.plan.struct_size, sizeof newer);
  EXPECT_EQ(newer.more, 0);
  EXPECT_EQ(newer.plan.ffn_ns, 320);
}

// Planners of different threads share nothing.
TEST(Planners, InThreadsOfTheirOwn) {
  std::vector<std::int64_t> sums(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < sums.size(); ++t)
    threads.emplace_back([&sums, t] {
      const PlannerPtr planner = testing::make_planner(config_of("afore-tiny", 4));
      Rng rng(3);
      for (int step = 0; step < 100; ++step) {
        const auto counts = testing::draw_counts<std::int64_t>(rng, 32, 4, 100);
        afore_plan out = empty_plan();
        if (afore_planner_plan(planner.get(), step, 1, 0, 100, counts.data(), 0, &out) == AFORE_OK)
          sums[t] += out.ffn_ns + out.copy_count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(sums[0], 0);
  for (const std::int64_t sum : sums) EXPECT_EQ(sum, sums[0]);
}

}  // namespace
}  // namespace afore::c
