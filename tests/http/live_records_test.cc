#include "http/live_records.h"

#include <gtest/gtest.h>

namespace afore::http {
namespace {

Header header() {
  Header header;
  header.producer = "test";
  header.source = "recorded";
  header.model.experts = 2;
  header.cluster.ffn_workers = 2;
  return header;
}

// A target of the step with these copies; `stands` says the layer's map before the first.
struct Pipeline {
  explicit Pipeline(LiveRecords& to) : records(to) {}
  void target(std::int64_t step, std::vector<Copy> copies, bool stands = false) {
    Demand demand;
    demand.target = {step, 1, 0};
    demand.counts = {1, 1};
    pipeline::PlannedTarget planned;
    planned.plan.target = demand.target;
    planned.plan.copies = std::move(copies);
    if (stands) planned.before = PlacementRecord{1, 1, {0, 1}};
    records.planned(nullptr, demand, planned);
  }
  LiveRecords& records;
};

TEST(LiveRecords, ReadersJoinWhereRegularSlotsAreAllThereIs) {
  LiveRecords records(header());
  Pipeline pipeline(records);
  std::string read;
  pipeline.target(0, {}, true);
  records.subscribe([&](const auto& lines) {
    if (lines) read += *lines;
    return true;
  });
  // Two experts change places by worker 1's staging buffer.
  pipeline.target(0, {{0, 0, 1, kStagingSlot}});
  EXPECT_EQ(read, "") << "in the midst of a step";
  pipeline.target(1, {{1, 1, 0, 0}});
  EXPECT_EQ(read, "") << "expert 0 is in the staging buffer alone";
  pipeline.target(2, {{0, 1, 1, 0}});
  EXPECT_EQ(read, "") << "as it was when the step began";
  pipeline.target(3, {});
  const std::string map = R"({"kind":"placement","layer":1,"slots_per_worker":1,"physical_to_logical":[1,0]})";
  EXPECT_NE(read.find("\n" + map + "\n"), read.npos) << read;
  EXPECT_EQ(read.find(R"("step":2)"), read.npos);
  EXPECT_NE(read.find(R"("step":3)"), read.npos);
}

TEST(LiveRecords, NobodyWaitsForEverForAStagingBuffer) {
  LiveRecords records(header());
  Pipeline pipeline(records);
  std::int64_t step = 0;
  pipeline.target(step++, {}, true);
  pipeline.target(step++, {{0, 0, 1, kStagingSlot}});
  std::string read;
  records.subscribe([&](const auto& lines) {
    if (lines) read += *lines;
    return true;
  });
  for (; step < 50; ++step) pipeline.target(step, {});
  EXPECT_EQ(read, "");
  for (; step < 150; ++step) pipeline.target(step, {});
  EXPECT_NE(read, "");
}

}  // namespace
}  // namespace afore::http
