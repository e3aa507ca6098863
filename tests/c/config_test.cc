// What a config may say, in which size, and what it leaves to the library.
#include <cstring>
#include <limits>

#include "engine.h"

namespace afore::c {
namespace {

using testing::config_of;
using testing::text;

int create(const afore_config& config) {
  afore_planner* planner = reinterpret_cast<afore_planner*>(1);
  const int status = afore_planner_create(&config, &planner);
  EXPECT_EQ(planner != nullptr, status == AFORE_OK);
  afore_planner_destroy(planner);
  return status;
}

TEST(Config, APresetHasItsSizes) {
  const afore_config config = config_of("deepseek-v3", 8);
  EXPECT_EQ(config.struct_size, sizeof config);
  EXPECT_EQ(config.experts, 256);
  EXPECT_EQ(config.top_k, 8);
  ASSERT_EQ(config.layer_count, 58);
  EXPECT_EQ(config.layers[0], 3);
  EXPECT_EQ(config.hidden, 7168);
  EXPECT_EQ(config.expert_bytes, 44'040'192);
  EXPECT_STREQ(config.policy, "afore");
  EXPECT_EQ(create(config), AFORE_OK) << text(nullptr);
}

TEST(Config, WithoutAPresetTheEngineSaysWhatItHas) {
  afore_config config = config_of(nullptr, 4);
  EXPECT_EQ(create(config), AFORE_E_CONFIG);
  EXPECT_EQ(text(nullptr), "config: experts is -1, not from 1 to 65536");
  config.experts = 16;
  config.top_k = 2;
  EXPECT_EQ(create(config), AFORE_E_CONFIG);
  EXPECT_EQ(text(nullptr), "config: neither copy_ns nor expert_bytes says how long a copy takes");
  config.copy_ns = 100'000;
  EXPECT_EQ(create(config), AFORE_E_CONFIG);
  EXPECT_NE(text(nullptr).find("hidden size is not known"), std::string::npos) << text(nullptr);
  config.c1_ns = 1'000;
  config.c2_ns = 2'000;
  EXPECT_EQ(create(config), AFORE_OK) << text(nullptr);
}

TEST(Config, AllFourUnitsNeedNoMachine) {
  afore_config config = config_of("afore-tiny", 4);
  for (const char* cost : {static_cast<const char*>(nullptr), "tpu"}) {
    config.cost = cost;
    config.c0_ns = config.c1_ns = config.c2_ns = 1'000;
    config.copy_ns = 0;
    EXPECT_EQ(create(config), AFORE_OK) << text(nullptr);
    config.c1_ns = -1;
    EXPECT_EQ(create(config), AFORE_E_CONFIG);
  }
}

TEST(Config, NullsAndUnknownNames) {
  EXPECT_EQ(afore_config_init(nullptr, nullptr), AFORE_E_ARGUMENT);
  afore_config config;
  EXPECT_EQ(afore_config_init(&config, "gpt-6"), AFORE_E_CONFIG);
  EXPECT_NE(text(nullptr).find("gpt-6"), std::string::npos);
  config = config_of("afore-tiny", 4);
  EXPECT_EQ(afore_planner_create(&config, nullptr), AFORE_E_ARGUMENT);
  afore_planner* planner = nullptr;
  EXPECT_EQ(afore_planner_create(nullptr, &planner), AFORE_E_ARGUMENT);
  config.policy = "best";
  EXPECT_EQ(create(config), AFORE_E_CONFIG);
  EXPECT_NE(text(nullptr).find("static, afore"), std::string::npos);
  config.policy = nullptr;
  EXPECT_EQ(create(config), AFORE_E_CONFIG);
  config = config_of("afore-tiny", 4);
  config.cost = "b200";
  EXPECT_EQ(create(config), AFORE_E_CONFIG);
  config.cost = nullptr;
  EXPECT_EQ(create(config), AFORE_E_CONFIG);
  afore_planner_destroy(nullptr);
}

// Every number beyond what it may be is refused before anything is made of it.
TEST(Config, AbsurdNumbers) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();
  const auto refused = [](auto member, auto value) {
    afore_config config = config_of("afore-tiny", 4);
    config.*member = value;
    return create(config) == AFORE_E_CONFIG && text(nullptr).rfind("config: ", 0) == 0;
  };
  for (const auto member :
       {&afore_config::experts, &afore_config::top_k, &afore_config::ffn_workers, &afore_config::redundant_slots,
        &afore_config::tile_tokens, &afore_config::microbatches, &afore_config::cost_rule, &afore_config::objective,
        &afore_config::demand_source, &afore_config::gain_rule, &afore_config::overlap, &afore_config::level,
        &afore_config::exact_split, &afore_config::window_steps, &afore_config::eplb_interval,
        &afore_config::eplb_groups, &afore_config::eplb_nodes, &afore_config::eplb_duplicates,
        &afore_config::layer_count}) {
    EXPECT_TRUE(refused(member, kMost)) << text(nullptr);
    EXPECT_TRUE(refused(member, -7)) << text(nullptr);
  }
  for (const auto member : {&afore_config::hidden, &afore_config::moe_intermediate, &afore_config::expert_bytes,
                            &afore_config::c0_ns, &afore_config::c1_ns, &afore_config::c2_ns, &afore_config::copy_ns,
                            &afore_config::copy_budget, &afore_config::node_budget, &afore_config::eplb_step_bytes}) {
    EXPECT_TRUE(refused(member, kMost64)) << text(nullptr);
    EXPECT_TRUE(refused(member, std::int64_t{-7})) << text(nullptr);
  }
}

TEST(Config, LayersAreChecked) {
  afore_config config = config_of("afore-tiny", 4);
  const std::int32_t layers[] = {4, -1};
  config.layers = layers;
  config.layer_count = 2;
  EXPECT_EQ(create(config), AFORE_E_CONFIG);
  config.layer_count = 1;
  EXPECT_EQ(create(config), AFORE_OK);
  config.layer_count = 0;
  EXPECT_EQ(create(config), AFORE_E_CONFIG);
}

// What would stop EPLB at its first rebalance stops it here.
TEST(Config, EplbMustDivide) {
  afore_config config = config_of("afore-tiny", 4);
  config.policy = "eplb";
  config.eplb_groups = 5;
  EXPECT_EQ(create(config), AFORE_E_CONFIG);
  EXPECT_NE(text(nullptr).find("is not a multiple of"), std::string::npos) << text(nullptr);
  config.eplb_groups = 8;
  EXPECT_EQ(create(config), AFORE_OK) << text(nullptr);
}

// A caller of an older header: a struct that ends earlier, with anything at all behind it.
TEST(Config, AnOlderStructEndsEarlier) {
  constexpr std::uint32_t kOlder = offsetof(afore_config, cost_rule);
  afore_config older;
  std::memset(&older, 0x5a, sizeof older);
  ASSERT_EQ(afore_config_init_sized(&older, kOlder, "afore-tiny"), AFORE_OK);
  EXPECT_EQ(older.struct_size, kOlder);
  EXPECT_EQ(older.cost_rule, 0x5a5a5a5a);  // not written
  older.ffn_workers = 4;
  EXPECT_EQ(create(older), AFORE_OK) << text(nullptr);  // not read either
  older.struct_size = sizeof older;
  EXPECT_EQ(create(older), AFORE_E_CONFIG);
}

TEST(Config, ANewerStructMayNotSayWhatIsNotKnown) {
  struct Newer {
    afore_config config;
    std::int64_t more;
  } newer{};
  ASSERT_EQ(afore_config_init_sized(&newer.config, sizeof newer, "afore-tiny"), AFORE_OK);
  EXPECT_EQ(newer.config.struct_size, sizeof newer);
  newer.config.ffn_workers = 4;
  EXPECT_EQ(create(newer.config), AFORE_OK) << text(nullptr);
  newer.more = 1;
  EXPECT_EQ(create(newer.config), AFORE_E_CONFIG);
  EXPECT_NE(text(nullptr).find("does not know"), std::string::npos);
}

TEST(Config, SizesThatCannotBe) {
  afore_config config = config_of("afore-tiny", 4);
  for (const std::uint32_t size : {0u, 4u, 8u, 33u, 4100u, 0xffffffffu}) {
    config.struct_size = size;
    EXPECT_EQ(create(config), AFORE_E_ARGUMENT) << size;
    EXPECT_EQ(afore_config_init_sized(&config, size, nullptr), AFORE_E_ARGUMENT) << size;
  }
}

TEST(Status, EveryCodeHasItsText) {
  for (int status = AFORE_E_INTERNAL; status <= AFORE_OK; ++status)
    EXPECT_STRNE(afore_status_text(status), afore_status_text(1)) << status;
  EXPECT_STREQ(afore_version(), "0.1.0");
  EXPECT_EQ(afore_abi_version(), AFORE_ABI_VERSION);
}

}  // namespace
}  // namespace afore::c
