// Requests that end before their last token: stopped by a token, or cancelled.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "batch/serving.h"
#include "util/error.h"

namespace afore::batch {
namespace {

using Slots = std::vector<int>;

ServingOptions roomy() {
  ServingOptions options;
  options.max_num_seqs = 4;
  options.max_num_batched_tokens = 10;
  options.kv_budget_tokens = 64;
  return options;
}

Slots complete(ServingBatcher& batcher, int microbatch = 0) {
  const auto finished = batcher.complete(microbatch);
  return {finished.begin(), finished.end()};
}

template <class Act>
bool refuses(Act&& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::internal;
  }
  return false;
}

TEST(ServingStop, ATokenEndsItsRequest) {
  ServingBatcher batcher(roomy());
  batcher.offer(0, 2, 40);
  batcher.offer(0, 2, 9);
  batcher.compose(0, 0);
  EXPECT_EQ(complete(batcher), Slots{});
  batcher.compose(0, 0);
  batcher.stop(0);
  EXPECT_EQ(batcher.running(), 2);  // until its step is complete
  EXPECT_EQ(batcher.kv_reserved(0), 48 + 16);
  EXPECT_EQ(complete(batcher), Slots{0});
  EXPECT_EQ(batcher.at(0).sampled, 2);
  EXPECT_EQ(batcher.at(0).computed, 3);
  EXPECT_TRUE(batcher.at(0).stopped);
  EXPECT_EQ(batcher.running(), 1);
  EXPECT_EQ(batcher.kv_reserved(0), 16);
  batcher.release(0);
  EXPECT_EQ(batcher.offer(0, 1, 1).slot, 0);
  EXPECT_FALSE(batcher.at(0).stopped);
}

TEST(ServingStop, TheLastTokenEndsItOnce) {
  ServingBatcher batcher(roomy());
  batcher.offer(0, 2, 1);
  batcher.compose(0, 0);
  batcher.stop(0);
  EXPECT_EQ(complete(batcher), Slots{0});
  EXPECT_EQ(batcher.running(), 0);
}

TEST(ServingStop, RefusesRequestsThatSampleNothingNow) {
  ServingBatcher batcher(roomy());
  batcher.offer(0, 15, 2);
  EXPECT_TRUE(refuses([&] { batcher.stop(0); }));  // queued
  batcher.compose(0, 0);
  EXPECT_TRUE(refuses([&] { batcher.stop(0); }));  // still in its prompt
  complete(batcher);
  EXPECT_TRUE(refuses([&] { batcher.stop(0); }));  // between steps
}

TEST(ServingCancel, AQueuedRequestLeavesTheQueueAtOnce) {
  ServingOptions options = roomy();
  options.max_queue = 2;
  ServingBatcher batcher(options);
  batcher.offer(0, 1, 1);
  batcher.offer(0, 1, 1);
  EXPECT_EQ(batcher.offer(0, 1, 1).refusal, Refusal::queue_full);
  EXPECT_TRUE(batcher.cancel(0));
  EXPECT_EQ(batcher.queued(), 1);
  EXPECT_EQ(batcher.offer(0, 1, 1).slot, 0);  // the slot too is free
  const ServingStep& step = batcher.compose(0, 0);
  EXPECT_EQ(step.admitted, (Slots{1, 0}));
  EXPECT_TRUE(batcher.take_given_up().empty());
}

TEST(ServingCancel, ARequestInTheStepUnderWayLeavesWithIt) {
  ServingBatcher batcher(roomy());
  batcher.offer(0, 2, 1);
  batcher.offer(0, 2, 1);
  batcher.compose(0, 0);
  EXPECT_FALSE(batcher.cancel(0));
  EXPECT_TRUE(batcher.at(0).cancelled);
  EXPECT_EQ(batcher.running(), 2);
  EXPECT_EQ(batcher.kv_reserved(0), 32);
  EXPECT_EQ(batcher.offer(0, 1, 1).slot, 2);  // its slot is still taken
  EXPECT_EQ(complete(batcher), Slots{1});     // though its last token was sampled
  EXPECT_EQ(batcher.running(), 0);
  EXPECT_EQ(batcher.kv_reserved(0), 0);
  EXPECT_TRUE(batcher.take_given_up().empty());
  EXPECT_EQ(batcher.offer(0, 1, 1).slot, 0);
}

TEST(ServingCancel, AStoppedRequestMayStillBeCancelled) {
  ServingBatcher batcher(roomy());
  batcher.offer(0, 2, 9);
  batcher.compose(0, 0);
  batcher.stop(0);
  batcher.cancel(0);
  EXPECT_EQ(complete(batcher), Slots{});
  EXPECT_EQ(batcher.running(), 0);
}

TEST(ServingCancel, ARunningRequestWithoutAChunkLeavesAtOnce) {
  ServingOptions options = roomy();
  options.max_num_batched_tokens = 4;
  ServingBatcher batcher(options);
  batcher.offer(0, 4, 9);
  batcher.compose(0, 0);
  complete(batcher);
  batcher.offer(0, 20, 4);
  batcher.compose(0, 0);  // one token and three of the prompt
  EXPECT_FALSE(batcher.cancel(0));
  complete(batcher);
  EXPECT_TRUE(batcher.at(0).cancelled);  // readable until another takes the slot
  EXPECT_TRUE(batcher.cancel(1));        // between steps
  EXPECT_EQ(batcher.running(), 0);
  EXPECT_EQ(batcher.kv_reserved(0), 0);
  EXPECT_TRUE(batcher.compose(0, 0).chunks.empty());
}

TEST(ServingCancel, ItsMemoryIsTheNextOnes) {
  ServingOptions options = roomy();
  options.kv_budget_tokens = 16;
  ServingBatcher batcher(options);
  batcher.offer(0, 2, 9);
  batcher.offer(0, 2, 9);
  batcher.compose(0, 0);
  complete(batcher);
  EXPECT_EQ(batcher.queued(), 1);
  batcher.cancel(0);
  EXPECT_EQ(batcher.compose(0, 0).admitted, Slots{1});
}

TEST(ServingCancel, RefusesWhatHasEnded) {
  ServingOptions options = roomy();
  options.max_queue_ns = 5;
  ServingBatcher batcher(options);
  batcher.offer(0, 2, 1);
  batcher.compose(0, 0);
  complete(batcher);
  EXPECT_TRUE(refuses([&] { batcher.cancel(0); }));  // complete, not yet released
  batcher.offer(0, 2, 9);
  batcher.expire(5);
  EXPECT_TRUE(refuses([&] { batcher.cancel(1); }));  // given up, not yet taken
  batcher.offer(6, 2, 9);
  batcher.compose(6, 0);
  batcher.cancel(2);
  EXPECT_TRUE(refuses([&] { batcher.cancel(2); }));
}

// Random requests of which many are stopped and many cancelled, at any time; the test keeps books of its own.
class Chaos {
 public:
  explicit Chaos(std::uint64_t seed)
      : state_(seed * 2 + 1), options_(random_options()), batcher_(options_), in_step_(options_.microbatches, false) {}

  void run() {
    for (int t = 0; t < 300 || batcher_.queued() + batcher_.running() > 0; ++t) {
      ASSERT_LT(t, 100'000) << "requests never end";
      if (t < 300) offer();
      for (int mb = 0; mb < options_.microbatches; ++mb) {  // the others' steps are under way meanwhile
        if (in_step_[mb]) end(mb);
        begin(mb);
      }
      if (testing::Test::HasFailure()) return;
    }
    for (int a = 0; a < options_.attention_workers; ++a) EXPECT_EQ(batcher_.kv_reserved(a), 0);
    EXPECT_EQ(batcher_.queued() + batcher_.running(), 0);
  }

 private:
  std::int64_t draw(std::int64_t below) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(below));
  }

  ServingOptions random_options() {
    ServingOptions options;
    options.microbatches = static_cast<int>(1 + draw(3));
    options.attention_workers = static_cast<int>(1 + draw(3));
    options.max_num_seqs = 1 + draw(5);
    options.max_num_batched_tokens = options.max_num_seqs + draw(20);
    options.kv_budget_tokens = 64 + draw(300);
    options.max_queue = 1 + draw(12);
    if (draw(2)) options.max_queue_ns = draw(3000);
    if (draw(2)) options.timeout_ns = 1 + draw(5000);
    return options;
  }

  void offer() {
    for (std::int64_t n = draw(4); n > 0; --n) {
      const int slot = batcher_.offer(now_, 1 + draw(60), 1 + draw(20)).slot;
      take_given_up();
      if (slot < 0) continue;
      EXPECT_TRUE(queued_or_running_.insert(slot).second) << "slot " << slot << " is still taken";
      EXPECT_FALSE(leaving_.contains(slot));
    }
  }

  void take_given_up() {
    for (const GivenUp& gone : batcher_.take_given_up()) {
      EXPECT_EQ(queued_or_running_.erase(gone.slot), 1u);
      batcher_.release(gone.slot);
    }
  }

  bool under_way(int slot) const {
    for (int mb = 0; mb < options_.microbatches; ++mb)
      for (const Chunk& chunk : batcher_.step(mb).chunks)
        if (in_step_[mb] && chunk.slot == slot) return true;
    return false;
  }

  void cancel_some() {
    for (std::int64_t n = draw(3); n > 0 && draw(4) == 0 && !queued_or_running_.empty(); --n) {
      const auto at = std::next(queued_or_running_.begin(), draw(static_cast<std::int64_t>(queued_or_running_.size())));
      const int slot = *at;
      queued_or_running_.erase(at);
      if (under_way(slot)) leaving_.insert(slot);
      EXPECT_EQ(batcher_.cancel(slot), !under_way(slot));
      EXPECT_TRUE(batcher_.at(slot).cancelled);
      check();
    }
  }

  void check() {
    EXPECT_EQ(batcher_.queued() + batcher_.running(),
              static_cast<std::int64_t>(queued_or_running_.size() + leaving_.size()));
    std::vector<std::int64_t> reserved(options_.attention_workers, 0);
    std::set<int> here = queued_or_running_;
    here.insert(leaving_.begin(), leaving_.end());
    for (const int slot : here) {
      const Served& served = batcher_.at(slot);
      if (served.microbatch < 0) continue;
      const std::int64_t tokens = served.prompt_tokens + served.output_tokens;
      reserved[served.attention_worker] += (tokens + kKvBlockTokens - 1) / kKvBlockTokens * kKvBlockTokens;
    }
    for (int a = 0; a < options_.attention_workers; ++a) EXPECT_EQ(batcher_.kv_reserved(a), reserved[a]);
  }

  void begin(int mb) {
    const ServingStep& step = batcher_.compose(now_, mb);
    in_step_[mb] = !step.chunks.empty();
    take_given_up();
    check();
    now_ += draw(50);
    cancel_some();
  }

  void end(int mb) {
    Slots expected;
    for (const Chunk& chunk : batcher_.step(mb).chunks) {
      const Served& served = batcher_.at(chunk.slot);
      if (!chunk.samples || served.cancelled) continue;
      const bool stops = draw(6) == 0;
      if (stops) batcher_.stop(chunk.slot);
      if (stops || served.sampled + 1 == served.output_tokens) expected.push_back(chunk.slot);
    }
    cancel_some();
    std::erase_if(expected, [&](int slot) { return leaving_.contains(slot); });
    const Slots finished = complete(batcher_, mb);
    in_step_[mb] = false;
    EXPECT_EQ(finished, expected);
    for (const Chunk& chunk : batcher_.step(mb).chunks) leaving_.erase(chunk.slot);
    for (const int slot : finished) {
      EXPECT_EQ(queued_or_running_.erase(slot), 1u);
      EXPECT_LE(batcher_.at(slot).sampled, batcher_.at(slot).output_tokens);
      EXPECT_EQ(batcher_.at(slot).computed, batcher_.at(slot).prompt_tokens + batcher_.at(slot).sampled - 1);
    }
    check();
    for (const int slot : finished) batcher_.release(slot);
    cancel_some();
  }

  std::uint64_t state_;
  ServingOptions options_;
  ServingBatcher batcher_;
  std::vector<bool> in_step_;  // by microbatch
  Nanos now_ = 0;
  std::set<int> queued_or_running_;  // and not cancelled
  std::set<int> leaving_;            // cancelled in the step under way
};

TEST(ServingEnds, RandomRunsKeepTheBooks) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chaos(seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace afore::batch
