// Maps that an engine brings and takes, and DeepSeek's balancer as a function.
#include <cmath>
#include <limits>

#include "engine.h"
#include "placement/eplb.h"

namespace afore::c {
namespace {

using testing::config_of;
using testing::PlannerPtr;
using testing::text;

struct MapTest : ::testing::Test {
  // Everything one worker further than usual: 8 experts and 2 free slots per worker.
  std::vector<std::int32_t> moved() {
    std::vector<std::int32_t> map(40, -1);
    for (int expert = 0; expert < 32; ++expert)
      map[static_cast<std::size_t>((expert / 8 + 1) % 4 * 10 + expert % 8)] = expert;
    return map;
  }
  int set(const std::vector<std::int32_t>& map, int layer = 1) {
    return afore_placement_set(planner.get(), layer, map.data(), std::ssize(map));
  }
  std::vector<std::int32_t> get(int layer = 1) {
    std::vector<std::int32_t> map(40, -2);
    EXPECT_EQ(afore_placement_get(planner.get(), layer, map.data(), 40), 40) << text(planner.get());
    return map;
  }
  int plan(int layer = 1) {
    const std::vector<std::int64_t> counts(32, 8);
    return afore_planner_plan(planner.get(), 0, layer, 0, 64, counts.data(), 0, &out);
  }

  PlannerPtr planner = testing::make_planner(config_of("afore-tiny", 4));
  afore_plan out = testing::empty_plan();
};

TEST_F(MapTest, ALayerStartsWithContiguousPrimaries) {
  EXPECT_EQ(afore_placement_get(planner.get(), 1, nullptr, 0), 40);
  const std::vector<std::int32_t> map = get();
  for (int expert = 0; expert < 32; ++expert)
    EXPECT_EQ(map[static_cast<std::size_t>(expert / 8 * 10 + expert % 8)], expert);
  EXPECT_EQ(map[8], -1);
}

// Looking does not begin a layer: its map may still be set, once.
TEST_F(MapTest, TheEnginesOwnMapStands) {
  get();
  ASSERT_EQ(set(moved()), AFORE_OK) << text(planner.get());
  EXPECT_EQ(get(), moved());
  EXPECT_NE(get(2), moved());
  ASSERT_EQ(plan(), AFORE_OK);
  ASSERT_GT(out.share_count, 0);
  EXPECT_EQ(out.shares[0].expert, 0);
  EXPECT_EQ(out.shares[0].worker, 1);
  EXPECT_EQ(set(moved()), AFORE_E_STATE);
  ASSERT_EQ(plan(2), AFORE_OK);
  EXPECT_EQ(set(moved(), 2), AFORE_E_STATE);  // too late
}

TEST_F(MapTest, MapsThatCannotStand) {
  const auto refused = [&](std::size_t at, std::int32_t expert) {
    std::vector<std::int32_t> map = moved();
    map[at] = expert;
    return set(map);
  };
  EXPECT_EQ(refused(10, 31), AFORE_E_DATA);  // expert 0 is nowhere
  EXPECT_EQ(text(planner.get()),
            "the placement of layer 1 cannot stand: expert 0 is on no worker; a map has slots_per_worker entries for "
            "each FFN worker and every expert at least once");
  EXPECT_EQ(refused(8, 32), AFORE_E_DATA);
  EXPECT_EQ(refused(8, -2), AFORE_E_DATA);
  EXPECT_EQ(refused(8, std::numeric_limits<std::int32_t>::max()), AFORE_E_DATA);
  std::vector<std::int32_t> map = moved();
  EXPECT_EQ(afore_placement_set(planner.get(), 1, nullptr, 40), AFORE_E_ARGUMENT);
  for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{39}, std::int64_t{36}})
    EXPECT_EQ(afore_placement_set(planner.get(), 1, map.data(), count), AFORE_E_DATA) << count;
  EXPECT_EQ(set(map, 0), AFORE_E_DATA);
  EXPECT_EQ(set(map), AFORE_OK);  // none of them has begun the layer
}

TEST_F(MapTest, RoomForTheMap) {
  std::vector<std::int32_t> map(40, -7);
  EXPECT_EQ(afore_placement_get(planner.get(), 1, map.data(), 39), AFORE_E_CAPACITY);
  EXPECT_EQ(map[0], -7);
  EXPECT_EQ(afore_placement_get(planner.get(), 1, nullptr, 40), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_placement_get(planner.get(), 1, map.data(), -1), AFORE_E_CAPACITY);
  EXPECT_EQ(afore_placement_get(planner.get(), 9, map.data(), 40), AFORE_E_DATA);
}

// The example of the published README and what the published code returns for it.
TEST(PlaceEplb, ThePublishedExample) {
  const double weights[] = {90, 132, 40,  61, 104, 165, 39,  4,   73,  56, 183, 86,
                            20, 107, 104, 64, 19,  197, 187, 157, 172, 86, 16,  27};
  std::int32_t map[32], where[2 * 12 * 5], count[24];
  ASSERT_EQ(afore_place_eplb(weights, 2, 12, 16, 4, 2, 8, map, where, count), AFORE_OK) << text(nullptr);
  const std::vector<std::int32_t> published = {5, 6,  5, 7, 8, 4,  3, 4, 10, 9, 10, 2, 0, 1, 11, 1,
                                               7, 10, 6, 8, 6, 11, 8, 9, 2,  4, 5,  1, 5, 0, 3,  1};
  EXPECT_EQ(std::vector(map, map + 32), published);
  EXPECT_EQ(count[5], 2);
  EXPECT_EQ((std::vector(where + 5 * 5, where + 6 * 5)), (std::vector<std::int32_t>{0, 2, -1, -1, -1}));
  for (int layer = 0; layer < 2; ++layer)
    for (int expert = 0; expert < 12; ++expert)
      for (int at = 0; at < count[layer * 12 + expert]; ++at)
        EXPECT_EQ(map[layer * 16 + where[(layer * 12 + expert) * 5 + at]], expert);
}

TEST(PlaceEplb, IsTheLibrarysOwn) {
  Rng rng(5);
  std::vector<double> weights(3 * 64);
  for (double& weight : weights) weight = static_cast<double>(rng.below(1000));
  std::vector<std::int32_t> map(3 * 80);
  ASSERT_EQ(afore_place_eplb(weights.data(), 3, 64, 80, 1, 1, 8, map.data(), nullptr, nullptr), AFORE_OK);
  for (std::size_t layer = 0; layer < 3; ++layer)
    EXPECT_EQ(placement::eplb_physical_to_logical({weights.data() + layer * 64, 64}, {80, 1, 1, 8, true}),
              std::vector<int>(map.begin() + static_cast<std::ptrdiff_t>(layer) * 80,
                               map.begin() + static_cast<std::ptrdiff_t>(layer + 1) * 80));
}

TEST(PlaceEplb, Refusals) {
  std::vector<double> weights(8, 1);
  std::vector<std::int32_t> map(16);
  const auto place = [&](int layers, int experts, int replicas, int groups, int nodes, int workers) {
    return afore_place_eplb(weights.data(), layers, experts, replicas, groups, nodes, workers, map.data(), nullptr,
                            nullptr);
  };
  EXPECT_EQ(place(1, 8, 12, 1, 1, 4), AFORE_OK);
  EXPECT_EQ(place(1, 8, 10, 1, 1, 4), AFORE_E_ARGUMENT);
  EXPECT_EQ(text(nullptr).rfind("eplb: replicas (10) is not a multiple of workers (4)", 0), 0u) << text(nullptr);
  EXPECT_EQ(place(1, 8, 4, 1, 1, 4), AFORE_E_ARGUMENT);
  EXPECT_EQ(place(0, 8, 12, 1, 1, 4), AFORE_E_ARGUMENT);
  EXPECT_EQ(place(1, -1, 12, 1, 1, 4), AFORE_E_ARGUMENT);
  EXPECT_EQ(place(1, 8, 12, 0, 1, 4), AFORE_E_ARGUMENT);
  EXPECT_EQ(place(1, 8, 12, 2, 0, 4), AFORE_E_ARGUMENT);
  EXPECT_EQ(place(1, 8, 12, 1, 1, std::numeric_limits<int>::max()), AFORE_E_ARGUMENT);
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300}) {
    weights[3] = bad;
    EXPECT_EQ(place(1, 8, 12, 1, 1, 4), AFORE_E_DATA) << bad;
  }
  EXPECT_EQ(text(nullptr), "eplb: layer 0: the weight of expert 3 is not a number of at least 0");
  EXPECT_EQ(afore_place_eplb(nullptr, 1, 8, 12, 1, 1, 4, map.data(), nullptr, nullptr), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_place_eplb(weights.data(), 1, 8, 12, 1, 1, 4, nullptr, nullptr, nullptr), AFORE_E_ARGUMENT);
}

}  // namespace
}  // namespace afore::c
