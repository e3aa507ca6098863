#include "placement/eplb.h"

#include <gtest/gtest.h>

#include <set>

#include "instances.h"
#include "util/error.h"

namespace afore::placement {
namespace {

// The example of the published README and what the published code returns for it (two layers each).
const std::vector<std::vector<double>> kWeight = {
    {90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86},
    {20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27},
};

struct Vector {
  const char* name;
  EplbOptions options;
  std::vector<std::vector<int>> physical_to_logical;
};

const std::vector<Vector> kVectors = {
    {"hier_readme",
     {16, 4, 2, 8},
     {{5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1}, {7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1}}},
    {"global_g1n1",
     {16, 1, 1, 8},
     {{10, 6, 10, 7, 0, 2, 11, 4, 5, 9, 5, 4, 8, 3, 1, 1}, {1, 10, 2, 4, 5, 11, 5, 0, 6, 7, 6, 3, 8, 8, 9, 7}}},
    {"global_g4n3",
     {16, 4, 3, 8},
     {{10, 6, 10, 7, 0, 2, 11, 4, 5, 9, 5, 4, 8, 3, 1, 1}, {1, 10, 2, 4, 5, 11, 5, 0, 6, 7, 6, 3, 8, 8, 9, 7}}},
    {"noredundancy_g4n2k4",
     {12, 4, 2, 4},
     {{5, 3, 7, 4, 8, 6, 10, 11, 2, 1, 0, 9}, {6, 9, 11, 8, 7, 10, 5, 3, 4, 1, 2, 0}}},
};

TEST(Eplb, EqualsThePublishedCode) {
  for (const Vector& vector : kVectors)
    for (std::size_t layer = 0; layer < kWeight.size(); ++layer)
      EXPECT_EQ(eplb_physical_to_logical(kWeight[layer], vector.options), vector.physical_to_logical[layer])
          << vector.name << " layer " << layer;
}

TEST(Eplb, WithoutDuplicatesNoWorkerHoldsAnExpertTwice) {
  testing::Random random(8);
  int repaired = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const int workers = 2 + static_cast<int>(random.below(9));
    const int per_worker = 2 + static_cast<int>(random.below(5));
    const int experts = 2 + static_cast<int>(random.below(workers * per_worker - 1));
    const int replicas = workers * per_worker;
    if (static_cast<std::int64_t>(experts) * workers < replicas) continue;
    std::vector<double> weight(experts);
    for (double& w : weight) w = static_cast<double>(random.below(4) == 0 ? random.below(1000) : random.below(20));
    auto duplicates = [&](const std::vector<int>& map) {
      int count = 0;
      for (int worker = 0; worker < workers; ++worker) {
        const auto begin = map.begin() + worker * per_worker;
        count += per_worker - static_cast<int>(std::set<int>(begin, begin + per_worker).size());
      }
      return count;
    };
    const std::vector<int> plain = eplb_physical_to_logical(weight, {replicas, 1, 1, workers, true});
    const std::vector<int> map = eplb_physical_to_logical(weight, {replicas, 1, 1, workers, false});
    ASSERT_EQ(map.size(), static_cast<std::size_t>(replicas));
    EXPECT_EQ(duplicates(map), 0) << "trial " << trial;
    EXPECT_EQ(std::set<int>(map.begin(), map.end()).size(), static_cast<std::size_t>(experts));
    repaired += duplicates(plain) > 0;
  }
  EXPECT_GT(repaired, 50);
}

void expect_usage(int experts, const EplbOptions& options, const std::string& part) {
  try {
    eplb_physical_to_logical(std::vector<double>(experts, 1.0), options);
    FAIL() << "no error: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Eplb, ErrorsNameTheRule) {
  expect_usage(12, {16, 5, 1, 8}, "experts (12) is not a multiple of groups (5)");
  expect_usage(12, {15, 4, 2, 5}, "workers (5) is not a multiple of nodes (2)");
  expect_usage(12, {17, 4, 2, 8}, "replicas (17) is not a multiple of workers (8)");
  expect_usage(12, {8, 4, 2, 8}, "fewer replicas (8) than experts (12)");
  expect_usage(12, {16, 0, 1, 8}, "positive");
}

}  // namespace
}  // namespace afore::placement
