#include "migrate/transition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "util/error.h"

namespace afore::migrate {
namespace {

// A layer that serves while it is re-homed: each standing replica that does not drain has work at every target, and
// a slot is busy while one of the last `microbatches - 1` targets used it. Checks every rule at every copy.
class Layer {
 public:
  Layer(LayerPlacement placement, int microbatches)
      : placement_(std::move(placement)), microbatches_(microbatches), last_use_(placement_.index_count(), -1'000) {}

  void serve(const std::vector<std::uint8_t>& draining) {
    ++target_;
    for (int e = 0; e < placement_.experts(); ++e) {
      int serving = 0;
      for (const int worker : placement_.holders(e)) {
        const std::size_t at = placement_.index(worker, placement_.slot_of(e, worker));
        if (draining[at]) continue;
        last_use_[at] = target_;
        ++serving;
      }
      ASSERT_GE(serving, 1) << "expert " << e << " has nobody left to serve it";
    }
  }

  // Before the target numbered target_ + 1.
  std::vector<std::uint8_t> busy() const {
    std::vector<std::uint8_t> flags(placement_.index_count());
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = last_use_[i] > target_ + 1 - microbatches_;
    return flags;
  }

  void apply(const std::vector<Copy>& copies, const std::vector<std::uint8_t>& busy_slots, bool free_staging) {
    const LayerPlacement before = placement_;
    std::set<std::size_t> written, read;
    for (const Copy& copy : copies) {
      const std::size_t at = placement_.index(copy.to, copy.slot);
      ASSERT_FALSE(busy_slots[at]) << "overwrites a busy slot";
      ASSERT_TRUE(written.insert(at).second) << "writes a slot twice";
      ASSERT_FALSE(read.count(at)) << "overwrites a source of the same list";
      const int source = placement_.slot_of(copy.expert, copy.from);
      ASSERT_NE(source, kNoSlot) << "source does not hold the expert";
      ASSERT_TRUE(before.holds(copy.expert, copy.from)) << "source was made by the same list";
      read.insert(placement_.index(copy.from, source));
      const int old = placement_.expert_at(copy.to, copy.slot);
      if (free_staging) Transition::apply(placement_, copy);
      else placement_.set(copy.to, copy.slot, copy.expert);
      if (old != kNoExpert) {
        ASSERT_FALSE(placement_.holders(old).empty()) << "lost expert " << old;
      }
    }
  }

  const LayerPlacement& placement() const { return placement_; }
  LayerPlacement& placement() { return placement_; }

 private:
  LayerPlacement placement_;
  int microbatches_;
  std::vector<std::int64_t> last_use_;
  std::int64_t target_ = 0;
};

struct Totals {
  std::int64_t copies = 0, staged = 0, calls = 0;
};

Totals run(Layer& layer, Transition& transition, int microbatches, std::int64_t budget, bool free_staging) {
  Totals totals;
  const std::int64_t needed = transition.remaining(layer.placement());
  // Each copy waits at most for its slot to become idle; a cycle adds one staging copy to at least two others.
  const std::int64_t bound = (2 * needed + 2) * (microbatches + 1);
  while (!transition.done(layer.placement())) {
    if (++totals.calls > bound) {
      ADD_FAILURE() << "no end after " << bound << " calls, " << transition.remaining(layer.placement()) << " left";
      return totals;
    }
    const std::vector<std::uint8_t> draining = transition.draining(layer.placement());
    const std::vector<std::uint8_t> busy = layer.busy();
    const std::vector<Copy> copies = transition.next(layer.placement(), busy, budget);
    EXPECT_LE(static_cast<std::int64_t>(copies.size()), budget);
    layer.apply(copies, busy, free_staging);
    if (testing::Test::HasFatalFailure()) return totals;
    totals.copies += static_cast<std::int64_t>(copies.size());
    for (const Copy& copy : copies) totals.staged += copy.slot == kStagingSlot;
    layer.serve(transition.draining(layer.placement()));
    if (testing::Test::HasFatalFailure()) return totals;
  }
  return totals;
}

TEST(Transition, FullSwapOfTwoWorkersGoesThroughStaging) {
  Layer layer(LayerPlacement::initial(2, 2, 0), 3);
  Transition transition(layer.placement(), std::vector<int>{1, 0});
  const Totals totals = run(layer, transition, 3, 4, true);
  EXPECT_EQ(layer.placement().physical_to_logical(), (std::vector<int>{1, 0}));
  EXPECT_EQ(totals.staged, 1);
  EXPECT_EQ(totals.copies, 3);
  EXPECT_EQ(layer.placement().expert_at(0, kStagingSlot), kNoExpert);
  EXPECT_EQ(layer.placement().expert_at(1, kStagingSlot), kNoExpert);
}

TEST(Transition, FirstCallOfASwapStagesAtTheWorkerThatWantsTheExpert) {
  const LayerPlacement placement = LayerPlacement::initial(2, 2, 0);
  Transition transition(placement, std::vector<int>{1, 0});
  const std::vector<std::uint8_t> idle(placement.index_count(), 0);
  EXPECT_EQ(transition.next(placement, idle, 4), (std::vector<Copy>{{0, 0, 1, kStagingSlot}}));
  const std::vector<std::uint8_t> one_buffer_busy = {0, 0, 0, 1};
  EXPECT_EQ(transition.next(placement, one_buffer_busy, 4), (std::vector<Copy>{{1, 1, 0, kStagingSlot}}));
  const std::vector<std::uint8_t> both_busy = {0, 1, 0, 1};
  EXPECT_TRUE(transition.next(placement, both_busy, 4).empty());
}

TEST(Transition, ExpertsThatStayOnAWorkerKeepTheirSlot) {
  const LayerPlacement placement = LayerPlacement::initial(4, 2, 1);  // 0 1 - | 2 3 -
  const Transition transition(placement, std::vector<int>{3, 1, 0, 2, 0, 3});
  EXPECT_EQ(transition.wanted(), (std::vector<int>{0, 1, 3, 2, 3, 0}));
  EXPECT_EQ(transition.remaining(placement), 2);
  EXPECT_FALSE(transition.done(placement));
}

TEST(Transition, SlotsThatWantNothingNeedNoCopy) {
  LayerPlacement placement = LayerPlacement::initial(2, 2, 1);
  placement.set(0, 1, 1);  // 0 1 | 1 -
  const Transition transition(placement, std::vector<int>{0, -1, -1, 1});
  EXPECT_TRUE(transition.done(placement));
  EXPECT_EQ(transition.wanted(), (std::vector<int>{0, -1, 1, -1}));
}

TEST(Transition, DrainsAllButOneHolderAndAtMostSoMany) {
  LayerPlacement placement(3, 3, 1);
  placement.set(0, 0, 0);
  placement.set(1, 0, 0);
  placement.set(2, 0, 0);
  placement.set(0, kStagingSlot, 1);
  placement.set(1, kStagingSlot, 2);
  Transition transition(placement, std::vector<int>{1, 2, 0});
  const std::vector<std::uint8_t> both = {1, 0, 1, 0, 0, 0};
  EXPECT_EQ(transition.draining(placement), both);
  const std::vector<std::uint8_t> one = {1, 0, 0, 0, 0, 0};
  EXPECT_EQ(transition.draining(placement, 1), one);
  EXPECT_EQ(transition.next(placement, std::vector<std::uint8_t>{1, 0, 0, 0, 1, 0}, 8),
            (std::vector<Copy>{{2, 1, 1, 0}}));  // a local copy; worker 0's slot is busy
}

TEST(Transition, NeverOverwritesTheLastReplicaOrAMarkedSource) {
  // Both replicas of expert 0 wait: only one may go in a list, the other stays until 0 stands on worker 2.
  LayerPlacement placement(2, 3, 1);
  placement.set(0, 0, 0);
  placement.set(1, 0, 0);
  placement.set(2, 0, 1);
  Transition transition(placement, std::vector<int>{1, 1, 0});
  const std::vector<std::uint8_t> idle(placement.index_count(), 0);
  EXPECT_EQ(transition.next(placement, idle, 8), (std::vector<Copy>{{1, 2, 0, 0}}));
}

TEST(Transition, AMapThatDropsAnExpertIsOurBug) {
  const LayerPlacement placement = LayerPlacement::initial(2, 2, 0);
  EXPECT_ANY_THROW(Transition(placement, std::vector<int>{0, 0}));
  EXPECT_ANY_THROW(Transition(placement, std::vector<int>{0, 2}));
  EXPECT_ANY_THROW(Transition(placement, std::vector<int>{0}));
}

struct Draw {
  std::mt19937 engine;
  int operator()(int below) { return static_cast<int>(engine() % static_cast<unsigned>(below)); }
};

std::vector<int> random_permutation(Draw& draw, int experts, int total) {
  std::vector<int> map(total, kNoExpert);
  std::iota(map.begin(), map.begin() + experts, 0);
  for (int i = total - 1; i > 0; --i) std::swap(map[i], map[draw(i + 1)]);
  return map;
}

// Every slot full; replicas go to a few hot experts. Duplicates on one worker occur, as in the published balancer.
std::vector<int> random_full_map(Draw& draw, int experts, int total) {
  std::vector<int> map = random_permutation(draw, experts, total);
  const int hot = 1 + draw(experts);
  for (int& expert : map)
    if (expert == kNoExpert) expert = draw(hot);
  return map;
}

void random_transitions(bool full, bool free_staging) {
  Draw draw{std::mt19937(full ? 7u : 8u)};
  std::int64_t staged_runs = 0;
  for (int round = 0; round < 1500; ++round) {
    const int workers = 2 + draw(7), experts = 1 + draw(32), redundant = draw(3), microbatches = 1 + draw(4);
    const std::int64_t budget = 1 + draw(8);
    Layer layer(LayerPlacement::initial(experts, workers, redundant), microbatches);
    const int total = workers * layer.placement().slots_per_worker();
    // Several maps in a row: later ones start from full maps, stale replicas and used staging buffers.
    for (int map = 0; map < 3; ++map) {
      const std::vector<int> wanted =
          full ? random_full_map(draw, experts, total) : random_permutation(draw, experts, total);
      Transition transition(layer.placement(), wanted);
      const std::int64_t needed = transition.remaining(layer.placement());
      const Totals totals = run(layer, transition, microbatches, budget, free_staging);
      ASSERT_FALSE(testing::Test::HasFailure())
          << "round " << round << ": workers " << workers << " experts " << experts << " redundant " << redundant
          << " microbatches " << microbatches << " budget " << budget;
      ASSERT_EQ(totals.copies, needed + totals.staged);
      ASSERT_LE(2 * totals.staged, needed);  // a cycle has at least two slots
      staged_runs += totals.staged > 0;
      for (int worker = 0; worker < workers; ++worker)
        for (int slot = 0; slot < layer.placement().slots_per_worker(); ++slot) {
          const int want = transition.wanted()[static_cast<std::size_t>(worker) * (total / workers) + slot];
          if (want != kNoExpert) {
            ASSERT_EQ(layer.placement().expert_at(worker, slot), want);
          }
        }
    }
  }
  EXPECT_GT(staged_runs, 50);  // the hard case did occur
}

TEST(Transition, RandomPermutationsEnd) { random_transitions(false, true); }
TEST(Transition, RandomFullMapsEnd) { random_transitions(true, true); }
TEST(Transition, RandomPermutationsEndWithoutFreeingStaging) { random_transitions(false, false); }
TEST(Transition, RandomFullMapsEndWithoutFreeingStaging) { random_transitions(true, false); }

TEST(Transition, RemainingIsTheNumberOfChangedPairs) {
  Draw draw{std::mt19937(11)};
  for (int round = 0; round < 500; ++round) {
    const int workers = 2 + draw(7), experts = 1 + draw(32);
    const LayerPlacement placement = LayerPlacement::initial(experts, workers, draw(3));
    const std::vector<int> wanted = random_permutation(draw, experts, workers * placement.slots_per_worker());
    std::int64_t changed = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const int worker = static_cast<int>(i) / placement.slots_per_worker();
      changed += wanted[i] != kNoExpert && !placement.holds(wanted[i], worker);
    }
    EXPECT_EQ(Transition(placement, wanted).remaining(placement), changed);
  }
}

TEST(Transition, RefusesMapsThatAreNotOfTheLayer) {
  const LayerPlacement placement = LayerPlacement::initial(2, 2, 0);
  EXPECT_THROW(Transition(placement, std::vector<int>{0}), Error);
  EXPECT_THROW(Transition(placement, std::vector<int>{0, 2}), Error);
  EXPECT_THROW(Transition(placement, std::vector<int>{0, -2}), Error);
  EXPECT_THROW(Transition(placement, std::vector<int>{0, 0}), Error);  // expert 1 would go
  Transition transition(placement, std::vector<int>{1, 0});
  EXPECT_THROW(transition.next(placement, std::vector<std::uint8_t>(3, 0), 1), Error);
  EXPECT_TRUE(transition.next(placement, std::vector<std::uint8_t>(4, 0), 0).empty());
}

// A worker was lost with expert 1, which nobody holds until it is read again: no copy has it as a source.
TEST(Transition, WaitsForAnExpertThatNobodyHolds) {
  LayerPlacement placement(2, 2, 2);
  placement.set(0, 0, 0);
  Transition transition(placement, std::vector<int>{0, 1, 1, 0});
  const std::vector<std::uint8_t> idle(placement.index_count(), 0);
  EXPECT_EQ(transition.next(placement, idle, 8), (std::vector<Copy>{{0, 0, 1, 1}}));
  placement.set(1, 1, 0);
  EXPECT_TRUE(transition.next(placement, idle, 8).empty());
  placement.set(1, 0, 1);
  EXPECT_EQ(transition.next(placement, idle, 8), (std::vector<Copy>{{1, 1, 0, 1}}));
}

}  // namespace
}  // namespace afore::migrate
