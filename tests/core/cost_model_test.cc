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
