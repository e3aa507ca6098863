#include "core/cost_model.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/assignment.h"
#include "util/error.h"

namespace afore {
namespace {

template <class Act>
std::string data_error(Act&& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_EQ(error.hint(), "check the rates of the cost file and the sizes of the model");
    return error.what();
  }
  return "no error";
}

ModelSpec small_model() {
  ModelSpec model;
  model.hidden = 4096;
  model.moe_intermediate = 1024;
  model.expert_bytes = std::int64_t{1} << 24;
  return model;
}

TEST(CostModel, OperationsOfDaysAreRefused) {
  PipelineCost cost;
  cost.link_ns_per_byte = 1;
  EXPECT_EQ(cost.transfer_ns(999e12), 999'000'000'000'000);
  const std::string message = "the cost model gives an operation of over 11 days";
  for (const double bytes :
       {1e15, 1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(data_error([&] { cost.transfer_ns(bytes); }), message) << bytes;
  cost.kv_ns_per_token = 1e12;
  EXPECT_EQ(data_error([&] { cost.attention_ns(1, 1000); }), message);
}

TEST(CostModel, UnitsOfSecondsAreRefused) {
  HardwareProfile profile = *find_hardware_profile("h100");
  EXPECT_EQ(data_error([&] { layer_cost(profile, small_model(), 64); }), "no error");
  profile.flops_per_s = 1e9;
  EXPECT_EQ(data_error([&] { layer_cost(profile, small_model(), 64); }),
            "the cost model gives a tile of over a second");
  profile.ffn_c1_ns = 700;
  profile.memory_bytes_per_s = 1e6;
  EXPECT_EQ(data_error([&] { layer_cost(profile, small_model(), 64); }),
            "the cost model gives an activated expert of over a second");
  profile.ffn_c2_ns = 700;
  profile.copy_bytes_per_s = 1;
  EXPECT_EQ(data_error([&] { layer_cost(profile, small_model(), 64); }),
            "the cost model gives an operation of over 11 days");
}

TEST(CostModel, MeasuredTimesPerTokenReplaceTheRatesOfAttention) {
  HardwareProfile profile = *find_hardware_profile("h100");
  const PipelineCost rates = pipeline_cost(profile, small_model());
  EXPECT_FALSE(rates.additive);
  EXPECT_EQ(rates.sample_ns(1000), 20'000);
  profile.attention_token_ns = 150.5;
  EXPECT_EQ(pipeline_cost(profile, small_model()).attention_ns(100, 1000), rates.attention_ns(100, 1000))
      << "one of the two says nothing";
  profile.attention_kv_ns = 0.25;
  profile.sampling_token_ns = 7.5;
  const PipelineCost measured = pipeline_cost(profile, small_model());
  // c0 5000 + 150.5 * 100 + 0.25 * 1000, and a sequence more or less
  EXPECT_EQ(measured.attention_ns(100, 1000), 20'300);
  EXPECT_EQ(measured.attention_ns(0, 0), 5'000);
  EXPECT_EQ(measured.sample_ns(3), 20'023);  // 22.5, half up
  // Nothing may be free, too.
  profile.attention_token_ns = profile.attention_kv_ns = profile.sampling_token_ns = 0;
  EXPECT_EQ(pipeline_cost(profile, small_model()).attention_ns(100, 1000), 5'000);
}

TEST(CostModel, SlowedIsTheSameMachineInEverything) {
  HardwareProfile profile = *find_hardware_profile("h100");
  profile.attention_token_ns = 2;
  profile.attention_kv_ns = 0.5;
  profile.sampling_token_ns = 3;
  const HardwareProfile slow = slowed(profile, 4);
  EXPECT_EQ(slow.sampling_token_ns, 12);
  EXPECT_EQ(slow.ffn_c1_ns, kAbsent) << "what is derived stays derived";
  const LayerCost fast_cost = layer_cost(profile, small_model(), 64), slow_cost = layer_cost(slow, small_model(), 64);
  EXPECT_EQ(slow_cost.c0_ns, 4 * fast_cost.c0_ns);
  EXPECT_NEAR(static_cast<double>(slow_cost.c1_ns), 4.0 * static_cast<double>(fast_cost.c1_ns), 4);
  EXPECT_NEAR(static_cast<double>(slow_cost.c2_ns), 4.0 * static_cast<double>(fast_cost.c2_ns), 4);
  EXPECT_NEAR(static_cast<double>(slow_cost.copy_ns), 4.0 * static_cast<double>(fast_cost.copy_ns), 4);
  EXPECT_NEAR(static_cast<double>(reload_ns(slow, slow_cost)), 4.0 * static_cast<double>(reload_ns(profile, fast_cost)),
              4);
  const PipelineCost fast = pipeline_cost(profile, small_model()), four = pipeline_cost(slow, small_model());
  EXPECT_EQ(four.attention_ns(100, 1000), 4 * fast.attention_ns(100, 1000));
  EXPECT_EQ(four.sample_ns(10), 4 * fast.sample_ns(10));
  EXPECT_NEAR(static_cast<double>(four.transfer_ns(1e6)), 4.0 * static_cast<double>(fast.transfer_ns(1e6)), 4);
  EXPECT_EQ(four.control_latency_ns, 4 * fast.control_latency_ns);
  EXPECT_EQ(four.scheduler_ns, 4 * fast.scheduler_ns);
  profile.ffn_c1_ns = 700;
  profile.ffn_c2_ns = 30;
  EXPECT_EQ(slowed(profile, 0.1).ffn_c1_ns, 70);
  EXPECT_EQ(slowed(profile, 0.1).ffn_c2_ns, 3);
  EXPECT_EQ(slowed(profile, 1), profile);
  try {
    slowed(profile, 50'001);  // of 20 us of sampling
    ADD_FAILURE() << "what no cost file may say";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_STREQ(error.what(), "the slowed machine has a time of over a second");
  }
  EXPECT_EQ(slowed(profile, 50'000).sampling_ns, 1'000'000'000);
}

TEST(CostModel, TheBuiltInCpuSpendsMoreOnWorkThanOnCalls) {
  const HardwareProfile* cpu = find_hardware_profile("cpu");
  ASSERT_NE(cpu, nullptr);
  ModelSpec tiny;
  tiny.hidden = 256;
  tiny.moe_intermediate = 64;
  tiny.expert_bytes = 98'304;
  // 8 rows * 6 * 256 * 64 operations at 200 GFLOP/s; 98,304 bytes at 20 GB/s; the copy at 8 GB/s, and 2 us.
  const LayerCost cost = layer_cost(*cpu, tiny, 8);
  EXPECT_EQ(cost.c1_ns, 3'932);
  EXPECT_EQ(cost.c2_ns, 4'915);
  EXPECT_EQ(cost.copy_ns, 14'288);
}

TEST(CostModel, TheProfilesRuleIsTheLayers) {
  HardwareProfile profile = *find_hardware_profile("h100");
  EXPECT_EQ(layer_cost(profile, small_model(), 64).rule, LoadRule::additive);
  profile.ffn_rule = LoadRule::roofline;
  EXPECT_EQ(layer_cost(profile, small_model(), 64).rule, LoadRule::roofline);
}

TEST(WorkerTraits, AWorkersLoadIsSlowedAndItsC0IsNot) {
  LayerCost cost{.c0_ns = 1000, .c1_ns = 7, .c2_ns = 30};
  const std::vector<WorkerTraits> traits = {{}, {1500, 1000, false}};
  EXPECT_EQ(ffn_ns(cost, {}, 1, 3, 2), 1081);
  EXPECT_EQ(ffn_ns(cost, traits, 0, 3, 2), 1081);
  EXPECT_EQ(ffn_ns(cost, traits, 1, 3, 2), 1122);  // 81 * 1.5 = 121.5
  cost.rule = LoadRule::roofline;
  EXPECT_EQ(ffn_ns(cost, traits, 1, 3, 2), 1090);
  EXPECT_EQ(ffn_ns(cost, traits, 1, 0, 0), 1000);
  const std::vector<TileShare> assignment = {{0, 0, 3}, {1, 1, 3}};
  EXPECT_EQ(worker_loads(assignment, 2, cost, traits).max_ns, 1045);
  EXPECT_EQ(worker_loads(assignment, 2, cost).max_ns, 1030);
}

TEST(WorkerTraits, ACopyIsAsSlowAsTheSlowerOfItsEnds) {
  const LayerCost cost{.copy_ns = 1001};
  const std::vector<WorkerTraits> traits = {{}, {1000, 2000, false}, {1000, 500, false}};
  EXPECT_EQ(copy_ns(cost, {}, 0, 1), 1001);
  EXPECT_EQ(copy_ns(cost, traits, 0, 1), 2002);
  EXPECT_EQ(copy_ns(cost, traits, 1, 2), 2002);
  EXPECT_EQ(copy_ns(cost, traits, 0, 2), 1001);  // the other end is no faster for it
  EXPECT_EQ(copy_ns(cost, traits, 2, 2), 501);
  // Out of worker 0 one after the other: 2002, then 1001 more.
  const std::vector<Copy> copies = {{0, 0, 1, 0}, {1, 0, 2, 0}};
  EXPECT_EQ(migration_ns(copies, 3, cost, traits), 3003);
  const std::vector<TileShare> assignment = {{0, 1, 1}};
  EXPECT_EQ(awaited_ns(copies, assignment, 3, cost, traits), 2002);
}

TEST(WorkerTraits, TheVolumeGoesByWhatWorkersHaveRoomFor) {
  const std::vector<WorkerTraits> traits = {{1000, 1000, false}, {2000, 1000, false}, {1000, 1000, false}};
  EXPECT_EQ(slowed_volume(100, 3, {}), 34);
  EXPECT_EQ(slowed_volume(100, 3, traits), 40);  // 40 + 20 + 40
  EXPECT_EQ(slowed_volume(101, 3, traits), 41);
  EXPECT_EQ(slowed_volume(0, 3, traits), 0);
  LayerCost cost{.c0_ns = 5, .c1_ns = 10, .c2_ns = 1};
  EXPECT_EQ(volume_bound_ns(9, 10, 3, cost, traits), 45);
  cost.rule = LoadRule::roofline;
  EXPECT_EQ(volume_bound_ns(10, 100, 3, cost, traits), 45);
}

}  // namespace
}  // namespace afore
