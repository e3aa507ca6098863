#include "core/cost_model.h"

#include <gtest/gtest.h>

#include <limits>

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

}  // namespace
}  // namespace afore
