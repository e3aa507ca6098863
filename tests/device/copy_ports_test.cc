// Copies over one out and one in port per worker, in list order.
#include "device/copy_ports.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "util/error.h"

namespace afore::device {
namespace {

// Posts and releases both ends of each copy as plans do; runs until all are done; end time of each by list index.
std::vector<Nanos> run(const std::vector<Copy>& copies, int workers, Nanos copy_ns) {
  CopyPorts ports(workers);
  std::vector<CopyId> started;
  for (int i = 0; i < static_cast<int>(copies.size()); ++i)
    for (const bool receives : {false, true}) ports.post({0, i}, copies[i], receives);
  for (int i = 0; i < static_cast<int>(copies.size()); ++i)
    for (const bool receives : {false, true}) ports.release({0, i}, receives, started);
  std::vector<Nanos> ends(copies.size(), -1);
  std::vector<std::pair<Nanos, CopyId>> running;
  Nanos now = 0;
  for (;;) {
    for (const CopyId& id : started) running.emplace_back(now + copy_ns, id);
    started.clear();
    if (running.empty()) break;
    const auto next = std::min_element(running.begin(), running.end());
    const auto [at, id] = *next;
    running.erase(next);
    now = at;
    ends[id.index] = now;
    ports.done(id, started);
  }
  EXPECT_TRUE(ports.idle());
  return ends;
}

using Times = std::vector<Nanos>;

TEST(CopyPorts, SeparatePortsRunSideBySide) {
  EXPECT_EQ(run({{0, 0, 1, 0}, {1, 2, 3, 0}, {2, 1, 0, 0}}, 4, 250), (Times{250, 250, 250}));
}

TEST(CopyPorts, AFanOutSerialisesOnTheSource) {
  EXPECT_EQ(run({{0, 0, 1, 0}, {0, 0, 2, 0}, {0, 0, 3, 0}}, 4, 250), (Times{250, 500, 750}));
}

TEST(CopyPorts, AFanInSerialisesOnTheDestination) {
  EXPECT_EQ(run({{0, 1, 0, 0}, {1, 2, 0, 1}, {2, 3, 0, 2}}, 4, 250), (Times{250, 500, 750}));
}

TEST(CopyPorts, ListOrderHoldsOnBothSides) {
  // The third waits for the second at worker 2, which waits for the first at worker 0.
  EXPECT_EQ(run({{0, 0, 1, 0}, {1, 0, 2, 0}, {2, 3, 2, 1}}, 4, 250), (Times{250, 500, 750}));
}

TEST(CopyPorts, TheEndIsWhatPlansPredict) {
  std::uint64_t state = 1;
  auto draw = [&](int below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(below));
  };
  LayerCost cost;
  cost.copy_ns = 250;
  for (int round = 0; round < 500; ++round) {
    const int workers = 2 + draw(6);
    std::vector<Copy> copies(1 + draw(12));
    for (Copy& copy : copies) {
      copy.from = draw(workers);
      copy.to = (copy.from + 1 + draw(workers - 1)) % workers;
    }
    const Times ends = run(copies, workers, cost.copy_ns);
    ASSERT_EQ(*std::max_element(ends.begin(), ends.end()), migration_ns(copies, workers, cost));
  }
}

TEST(CopyPorts, NothingStartsBeforeBothEndsReleaseIt) {
  CopyPorts ports(2);
  std::vector<CopyId> started;
  ports.post({3, 0}, {0, 0, 1, 0}, true);
  ports.release({3, 0}, true, started);
  EXPECT_TRUE(started.empty());
  ports.post({3, 0}, {0, 0, 1, 0}, false);
  EXPECT_TRUE(started.empty());
  ports.release({3, 0}, false, started);
  EXPECT_EQ(started, std::vector<CopyId>{(CopyId{3, 0})});
}

TEST(CopyPorts, AnUnreleasedCopyHoldsBackThoseBehindIt) {
  CopyPorts ports(3);
  std::vector<CopyId> started;
  const Copy first{0, 0, 1, 0}, second{1, 0, 2, 0};
  for (const bool receives : {false, true}) {
    ports.post({0, 0}, first, receives);
    ports.post({1, 0}, second, receives);
    ports.release({1, 0}, receives, started);
  }
  ports.release({0, 0}, false, started);
  EXPECT_TRUE(started.empty());
  ports.release({0, 0}, true, started);
  EXPECT_EQ(started, std::vector<CopyId>{(CopyId{0, 0})});
  EXPECT_FALSE(ports.idle_before(1));
  EXPECT_TRUE(ports.idle_before(0));
  started.clear();
  ports.done({0, 0}, started);
  EXPECT_EQ(started, std::vector<CopyId>{(CopyId{1, 0})});
  EXPECT_TRUE(ports.idle_before(1));
  EXPECT_FALSE(ports.idle());
}

TEST(CopyPorts, RefusesWhatIsNotRunning) {
  CopyPorts ports(2);
  std::vector<CopyId> started;
  ports.post({0, 0}, {0, 0, 1, 0}, true);
  EXPECT_THROW(ports.done({0, 0}, started), Error);
}

}  // namespace
}  // namespace afore::device
