#include "placement/static_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "placement/eplb.h"
#include "util/rng.h"

namespace afore::placement {
namespace {

double objective(const std::vector<std::int64_t>& loads, const std::vector<int>& map, int experts, int workers) {
  double sum = 0;
  for (std::size_t at = 0; at < loads.size(); at += experts)
    sum += largest_load(std::span(loads).subspan(at, experts), map, workers);
  return sum;
}

void expect_whole(const std::vector<int>& map, int experts, int workers) {
  const std::size_t each = map.size() / workers;
  std::set<int> seen(map.begin(), map.end());
  EXPECT_EQ(static_cast<int>(seen.size()), experts);
  EXPECT_EQ(*seen.begin(), 0);
  for (int w = 0; w < workers; ++w) {
    const std::set<int> here(map.begin() + w * each, map.begin() + (w + 1) * each);
    EXPECT_EQ(here.size(), each) << "a duplicate on worker " << w;
  }
}

// Experts 0 and 2 are hot together, 1 and 3 at another time. To EPLB, which sees sums, all four are alike.
TEST(StaticMap, PartsWhatIsHotTogether) {
  const std::vector<std::int64_t> loads = {10, 0, 10, 0, 0, 10, 0, 10};
  EplbOptions options;
  options.replicas = 4;
  options.workers = 2;
  const std::vector<double> sums(4, 10.0);
  EXPECT_EQ(objective(loads, eplb_physical_to_logical(sums, options), 4, 2), 40.0);
  const std::vector<int> map = balance_slots(loads, 4, 2, 2);
  EXPECT_EQ(objective(loads, map, 4, 2), 20.0);
  expect_whole(map, 4, 2);
}

TEST(StaticMap, SharesEvenlyAmongReplicas) {
  const std::vector<std::int64_t> loads = {12, 2, 4};
  const std::vector<int> map = {0, 1, 0, 2};
  EXPECT_EQ(largest_load(loads, map, 2), 10.0);  // 6 + 2 and 6 + 4
}

// By sums expert 0 is first to get the one replica. But 0 and 2 can stand apart, and nothing but a replica helps where
// 1 is alone: 6 + 2.5 is the least, and no exchange of slots reaches it.
TEST(StaticMap, GivesTheReplicaToWhoNeedsIt) {
  const std::vector<std::int64_t> loads = {6, 0, 6, 0, 5, 0};
  const std::vector<int> map = balance_slots(loads, 3, 2, 2);
  EXPECT_EQ(std::count(map.begin(), map.end(), 1), 2);
  EXPECT_EQ(objective(loads, map, 3, 2), 8.5);
}

TEST(StaticMap, NeverWorseThanEplbWithoutDuplicates) {
  Rng rng(7, "static_map");
  for (int round = 0; round < 200; ++round) {
    const int experts = 4 + static_cast<int>(rng.below(29)), workers = 2 + static_cast<int>(rng.below(7));
    const int slots = (experts + workers - 1) / workers + static_cast<int>(rng.below(3));
    const int windows = 1 + static_cast<int>(rng.below(6));
    std::vector<std::int64_t> loads(static_cast<std::size_t>(windows) * experts);
    for (std::int64_t& load : loads) load = static_cast<std::int64_t>(rng.below(1000)) / (1 + rng.below(20));
    const std::vector<int> map = balance_slots(loads, experts, workers, slots);
    const std::vector<double> sums = expert_sums(loads, experts);
    EplbOptions options;
    options.replicas = workers * slots;
    options.workers = workers;
    options.allow_duplicates = false;
    const std::vector<int> eplb = eplb_physical_to_logical(sums, options);
    EXPECT_LE(objective(loads, map, experts, workers), objective(loads, eplb, experts, workers) * (1 + 1e-12));
    if (slots <= experts) expect_whole(map, experts, workers);
  }
}

TEST(StaticMap, WithoutAHistoryAnyWholeMap) {
  const std::vector<int> map = balance_slots({}, 6, 3, 3);
  expect_whole(map, 6, 3);
}

}  // namespace
}  // namespace afore::placement
