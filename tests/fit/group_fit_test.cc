#include "fit/group_fit.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace afore::fit {
namespace {

// Even loads on 256 experts, top-8, timed by the model itself: 128-row tiles, counted here by hand.
MeasuredTable generation_table(double c0, double c1, double c2) {
  MeasuredTable table;
  table.name = "synthetic.csv";
  table.device = "h100";
  table.form = TableForm::generation;
  for (const std::int64_t workers : {4, 8, 16, 32, 64, 128, 256})
    for (const std::int64_t each : {1, 8, 100, 129, 300, 700}) {
      MeasuredRow row;
      row.line = static_cast<std::int64_t>(table.rows.size()) + 2;
      row.load.tokens = each * 32;
      row.load.top_k = 8;
      row.load.experts = 256;
      row.load.local_experts = 256 / workers;
      row.workers = workers;
      row.size = static_cast<double>(row.load.tokens);
      row.key = std::to_string(workers) + "|" + std::to_string(row.load.tokens);
      row.group = "h100/generation/fp8/1x1";
      const double local = 256.0 / static_cast<double>(workers);
      row.time_ns = c0 + c1 * local * static_cast<double>((each + 127) / 128) + c2 * local;
      table.rows.push_back(row);
    }
  return table;
}

TEST(GroupFit, RecoversTheModelAndTheTile) {
  const std::vector<GroupFit> groups = fit_groups({generation_table(21'000, 7'600, 9'000)}, 0);
  ASSERT_EQ(groups.size(), 1u);
  const GroupFit& group = groups[0];
  EXPECT_EQ(group.tile_tokens, 128);
  EXPECT_EQ(group.parameters, 3u);
  EXPECT_NEAR(group.model.c[0], 21'000, 1);
  EXPECT_NEAR(group.model.c[1], 7'600, 1);
  EXPECT_NEAR(group.model.c[2], 9'000, 1);
  EXPECT_LT(group.held.max, 1e-6);
  EXPECT_LT(group.left_out.max, 1e-6);
}

TEST(GroupFit, HalvesAreEvenAndTheSeedDecides) {
  const MeasuredTable table = generation_table(21'000, 7'600, 9'000);
  const auto held = [&](std::uint64_t seed) {
    std::vector<bool> marks;
    const std::vector<GroupFit> groups = fit_groups({table}, seed);
    for (const FittedRow& row : groups[0].rows) marks.push_back(row.held);
    return marks;
  };
  const std::vector<bool> once = held(0);
  EXPECT_EQ(std::count(once.begin(), once.end(), true), 21);
  EXPECT_EQ(once, held(0));
  EXPECT_NE(once, held(1));
}

// One held row that is wrong by a factor shows in the held half and in its own error, and does not bend the model.
TEST(GroupFit, AWrongHeldRowIsReported) {
  MeasuredTable table = generation_table(21'000, 7'600, 9'000);
  const std::vector<GroupFit> before = fit_groups({table}, 0);
  std::size_t at = 0;
  while (!before[0].rows[at].held) ++at;
  table.rows[at].time_ns *= 2;
  const GroupFit group = fit_groups({table}, 0)[0];
  EXPECT_NEAR(group.rows[at].error, 0.5, 1e-3);
  EXPECT_NEAR(group.held.max, 0.5, 1e-3);
  EXPECT_LT(group.fitted.max, 1e-6);
}

TEST(GroupFit, LinksAreLatencyAndRate) {
  MeasuredTable table;
  table.name = "links.csv";
  table.device = "h100";
  table.form = TableForm::nccl;
  for (int i = 0; i < 12; ++i) {
    MeasuredRow row;
    row.size = static_cast<double>(1 << (8 + 2 * i));
    row.time_ns = 10'000 + row.size / 300;
    row.key = std::to_string(i);
    row.group = "h100/nccl/alltoall/gpus=8";
    table.rows.push_back(row);
  }
  const GroupFit group = fit_groups({table}, 0)[0];
  EXPECT_NEAR(group.model.c[0], 10'000, 1);
  EXPECT_NEAR(1 / group.model.c[1], 300, 0.01);
  EXPECT_EQ(group.parameters, 2u);
}

// Six used rows are the least for three parameters.
TEST(GroupFit, TooFewRowsAreNotFitted) {
  MeasuredTable table = generation_table(21'000, 7'600, 9'000);
  table.rows.resize(10);
  EXPECT_EQ(fit_groups({table}, 0)[0].parameters, 0u);
  table = generation_table(21'000, 7'600, 9'000);
  table.rows.resize(12);
  EXPECT_EQ(fit_groups({table}, 0)[0].parameters, 3u);
}

}  // namespace
}  // namespace afore::fit
