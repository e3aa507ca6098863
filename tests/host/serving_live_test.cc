// The loop on a source that does not know what comes: waiting, and clients that go away.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "fake_runner.h"

namespace afore::host {
namespace {

// What a test puts here comes next; without it nothing has come yet, until `ended`.
class Script final : public RequestSource {
 public:
  Next next(IncomingRequest& request) override {
    if (here.empty()) return ended ? Next::end : Next::none_yet;
    request = std::move(here.front());
    here.pop_front();
    return Next::request;
  }
  void wait() override { on_wait(++waits); }
  void take_cancelled(std::vector<std::string>& ids) override {
    ids.insert(ids.end(), cancelled.begin(), cancelled.end());
    cancelled.clear();
  }

  std::deque<IncomingRequest> here;
  std::vector<std::string> cancelled;
  bool ended = false;
  int waits = 0;
  std::function<void(int)> on_wait = [this](int) { ended = true; };
};

// Writes down what it is told.
struct Witness final : ServingObserver {
  void on_admitted(const std::string& id, Nanos queue_ns) override {
    log.push_back("admit " + id + " " + std::to_string(queue_ns));
  }
  void on_token(const std::string& id, bool first, Nanos since_ns) override {
    log.push_back((first ? "first " : "token ") + id + " " + std::to_string(since_ns));
  }
  void on_closed(const Completion& completion, const pipeline::RequestTimes& t) override {
    log.push_back("close " + completion.id + " " + completion.finish_reason);
    times[completion.id] = t;
    EXPECT_TRUE(closed.emplace(completion.id, completion).second) << completion.id << " is closed twice";
  }
  void on_step(const StepTokens& tokens) override {
    log.push_back("step " + std::to_string(tokens.prefill) + "+" + std::to_string(tokens.decode) + " of " +
                  std::to_string(tokens.sequences));
  }
  void on_load(const ServingLoad& load) override {
    kv_blocks_used.assign(load.kv_blocks_used.begin(), load.kv_blocks_used.end());
    queued = load.queued;
    running = load.running;
    most_kv_blocks = std::max(most_kv_blocks, kv_blocks_used[0]);
    kv_blocks = load.kv_blocks;
  }

  Log log;
  std::map<std::string, pipeline::RequestTimes> times;
  std::map<std::string, Completion> closed;
  std::vector<std::int64_t> kv_blocks_used;
  std::int64_t queued = -1, running = -1, kv_blocks = 0, most_kv_blocks = 0;
};

class ServingLive : public testing::Test {
 protected:
  void serve(const ServingLoopOptions& options = plain()) {
    ServingLoop loop(options, runner, [this](const Completion& done) { completions.push_back(done); }, {&witness});
    loop.run(source, &kNoSignal);
    loop.fill(summary);
    EXPECT_TRUE(runner.running.empty());
    EXPECT_EQ(*summary.injected, *summary.completed + *summary.queued + *summary.running + *summary.rejected +
                                     *summary.timed_out + summary.cancelled);
    EXPECT_EQ(witness.queued + witness.running, 0);
    for (const std::int64_t used : witness.kv_blocks_used) EXPECT_EQ(used, 0);
  }
  // While that step is under way, counted from 1.
  void cancel_in_step(int step, std::vector<std::string> ids) {
    runner.on_sampled = [this, step, ids = std::move(ids), count = 0]() mutable {
      if (++count == step) source.cancelled = ids;
    };
  }
  std::int64_t begun() const {
    return std::count_if(runner.log.begin(), runner.log.end(),
                         [](const auto& line) { return line.starts_with("beg"); });
  }
  bool logged(const std::string& line) const {
    return std::find(runner.log.begin(), runner.log.end(), line) != runner.log.end();
  }
  // That it ended as cancelled, and only the observer was told.
  void expect_cancelled(const std::string& id, std::int64_t tokens) {
    EXPECT_EQ(summary.cancelled, 1);
    ASSERT_TRUE(witness.closed.contains(id));
    EXPECT_EQ(witness.closed[id].finish_reason, "cancelled");
    EXPECT_EQ(witness.closed[id].output_tokens, tokens);
    EXPECT_TRUE(witness.closed[id].text.empty());
    for (const Completion& done : completions) EXPECT_NE(done.id, id);
  }

  Runner runner;
  Script source;
  Witness witness;
  std::vector<Completion> completions;
  Summary summary;
};

TEST_F(ServingLive, WithNothingToDoItWaitsInTheSource) {
  source.on_wait = [this](int waits) {
    runner.now_ns += 1'000;
    if (waits == 2) source.here.push_back(asked("a", runner.now_ns, 1, 1));
    if (waits == 3) source.here.push_back(asked("b", runner.now_ns, 1, 1));
    source.ended = waits == 4;
  };
  serve();
  EXPECT_EQ(runner.log, (Log{"idle", "idle", "admit a", "begin 0/0 prefill", "layer 1/0", "close a", "idle", "admit b",
                             "begin 1/0 prefill", "layer 1/0", "close b", "idle", "finish"}));
  EXPECT_EQ(summary.completed, 2);
}

TEST_F(ServingLive, WhileStepsRunItAsksAgain) {
  source.here.push_back(asked("a", 0, 1, 3));
  runner.on_sampled = [this, count = 0]() mutable {
    if (++count == 1) source.here.push_back(asked("b", runner.now_ns - 30, 1, 1));
  };
  serve();
  EXPECT_EQ(source.waits, 1);
  EXPECT_EQ(runner.log, (Log{"admit a", "begin 0/0 prefill", "layer 1/0", "admit b", "begin 1/0 mixed", "layer 1/0",
                             "close b", "begin 2/0 decode", "layer 1/0", "close a", "idle", "finish"}));
  EXPECT_EQ(witness.times["b"].admitted_ns - witness.times["b"].arrival_ns, 30);
}

TEST_F(ServingLive, AtTheEndWhoIsThereIsServed) {
  source.here = {asked("a", 0, 1, 3), asked("b", 0, 1, 9)};
  source.ended = true;
  ServingLoopOptions options = plain();
  options.serving.max_num_seqs = 1;
  serve(options);
  EXPECT_EQ(source.waits, 0);
  EXPECT_EQ(completions.size(), 2u);
}

TEST_F(ServingLive, CancelledBeforeItArrives) {
  source.here = {asked("a", 0, 1, 3), asked("late", 5'000, 1, 1), asked("later", 5'500, 1, 1)};
  cancel_in_step(1, {"late"});
  serve();
  expect_cancelled("late", 0);
  EXPECT_FALSE(logged("admit late"));
  EXPECT_TRUE(logged("wait 5500"));  // not for who is gone
  EXPECT_EQ(summary.injected, 3);
  EXPECT_EQ(witness.times["late"].admitted_ns, pipeline::kNoTime);
  EXPECT_GE(witness.times["late"].finished_ns, witness.times["late"].arrival_ns);
}

TEST_F(ServingLive, CancelledWhileQueued) {
  ServingLoopOptions options = plain();
  options.serving.max_num_seqs = 1;
  source.here = {asked("a", 0, 1, 3), asked("b", 0, 1, 1), asked("c", 0, 1, 1)};
  cancel_in_step(1, {"b"});
  serve(options);
  expect_cancelled("b", 0);
  EXPECT_FALSE(logged("admit b"));
  EXPECT_FALSE(logged("close b"));
  EXPECT_EQ(completions.size(), 2u);
}

TEST_F(ServingLive, CancelledInItsPrompt) {
  ServingLoopOptions options = plain();
  options.serving.max_num_seqs = 4;
  options.serving.max_num_batched_tokens = 4;
  source.here = {asked("a", 0, 20, 3)};
  cancel_in_step(2, {"a"});
  serve(options);
  expect_cancelled("a", 0);
  EXPECT_EQ(begun(), 2);  // it left with the step that was under way
  EXPECT_EQ(witness.most_kv_blocks, 2);
  EXPECT_EQ(witness.times["a"].first_token_ns, pipeline::kNoTime);
}

TEST_F(ServingLive, CancelledInTheStepThatCompletesIt) {
  source.here = {asked("a", 0, 1, 2), asked("b", 0, 1, 3)};
  cancel_in_step(2, {"a"});
  serve();
  expect_cancelled("a", 2);
  EXPECT_TRUE(logged("close a"));
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(completions[0].id, "b");
  EXPECT_EQ(summary.total_output_tokens, 3);
  EXPECT_EQ(std::count(witness.log.begin(), witness.log.end(), "token a 100"), 0);  // its last token is nobody's
}

TEST_F(ServingLive, CancelledWithATokenThatWouldHaveEndedIt) {
  source.here = {asked("a", 0, 1, 9, 2)};
  cancel_in_step(2, {"a"});
  serve();
  expect_cancelled("a", 2);
  EXPECT_EQ(begun(), 2);
}

TEST_F(ServingLive, CancelledBetweenItsStepsItLeavesAtOnce) {
  ServingLoopOptions options = plain(2);
  options.steps = 1;
  source.here = {asked("a", 0, 1, 9), asked("b", 0, 1, 1)};
  cancel_in_step(2, {"a"});  // that of b; a has none under way
  serve(options);
  expect_cancelled("a", 1);
  EXPECT_EQ(runner.log, (Log{"admit a", "begin 0/0 prefill", "admit b", "begin 0/1 prefill", "layer 1/0", "layer 1/1",
                             "close a", "close b", "finish"}));
}

TEST_F(ServingLive, ItsPlaceAndMemoryAreTheNextOnesWithinTheStep) {
  ServingLoopOptions options = plain();
  options.serving.kv_budget_tokens = 32;
  source.here = {asked("a", 0, 4, 20), asked("b", 0, 4, 20)};
  cancel_in_step(3, {"a"});
  serve(options);
  expect_cancelled("a", 3);
  EXPECT_EQ(witness.times["b"].admitted_ns, witness.times["a"].finished_ns);
  EXPECT_EQ(witness.times["a"].finished_ns, 3 * kStepNs);
  EXPECT_EQ(witness.kv_blocks, 2);
}

TEST_F(ServingLive, WhoHasEndedIsPassedOver) {
  source.here = {asked("a", 0, 1, 1), asked("b", 0, 1, 9), asked("", 0, 1, 1)};
  runner.on_sampled = [this, count = 0]() mutable {
    ++count;
    if (count == 3) source.cancelled = {"a", "nobody", "", "b", "b"};
    if (count == 4) source.cancelled = {"b"};
  };
  serve();
  expect_cancelled("b", 3);
  EXPECT_EQ(completions.size(), 2u);
}

TEST_F(ServingLive, AllOfAStepCancelled) {
  source.here = {asked("a", 0, 1, 9), asked("b", 0, 1, 9), asked("c", 0, 1, 9)};
  cancel_in_step(2, {"c", "a", "b"});
  serve();
  EXPECT_EQ(summary.cancelled, 3);
  EXPECT_EQ(summary.completed, 0);
  EXPECT_EQ(begun(), 2);
}

TEST_F(ServingLive, ObserversHearOfEveryTokenAndStep) {
  ServingLoopOptions options = plain();
  options.serving.max_num_seqs = 1;
  options.serving.max_num_batched_tokens = 4;
  options.serving.max_queue = 1;
  source.here = {asked("a", 0, 6, 2), asked("b", 50, 1, 1), asked("c", 60, 1, 1)};
  serve(options);
  EXPECT_EQ(witness.log,
            (Log{"admit a 0", "step 4+0 of 1", "close c rejected", "step 2+0 of 1", "first a 200", "step 0+1 of 1",
                 "token a 100", "close a length", "admit b 250", "step 1+0 of 1", "first b 350", "close b length"}));
  const pipeline::RequestTimes& a = witness.times["a"];
  EXPECT_EQ(a.arrival_ns, 0);
  EXPECT_EQ(a.admitted_ns, 0);
  EXPECT_EQ(a.first_token_ns, 200);
  EXPECT_EQ(a.finished_ns, 300);
  EXPECT_EQ(a.prompt_tokens, 6);
  EXPECT_EQ(a.output_tokens, 2);
  EXPECT_EQ(witness.kv_blocks, options.serving.kv_budget_tokens / batch::kKvBlockTokens);
}

TEST_F(ServingLive, WhatTheSourceRefusedCounts) {
  ServingLoop loop(plain(), runner, {});
  source.ended = true;
  loop.run(source, &kNoSignal);
  loop.add_unread({3, 2, 1});
  loop.fill(summary);
  EXPECT_EQ(summary.injected, 6);
  EXPECT_EQ(summary.rejected, 5);
  EXPECT_EQ(summary.cancelled, 1);
  EXPECT_EQ(summary.saturation, "OVERLOADED");
}

// Arrivals, waits and cancellations at random: each request ends once, and nothing is left behind.
TEST(ServingLiveRuns, NothingIsLostOrAnsweredTwice) {
  std::int64_t all_complete = 0, all_cancelled = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw{seed};
    ServingLoopOptions options = plain(static_cast<int>(1 + draw(4)));
    options.layers = 1 + draw(3);
    options.serving.attention_workers = static_cast<int>(1 + draw(3));
    options.serving.max_num_seqs = 1 + draw(6);
    options.serving.max_num_batched_tokens = options.serving.max_num_seqs + draw(30);
    options.serving.kv_budget_tokens = 32 + draw(200);
    options.serving.max_queue = 1 + draw(10);
    if (draw(3) == 0) options.serving.max_queue_ns = draw(5'000);
    if (draw(3) == 0) options.serving.timeout_ns = 1 + draw(10'000);
    if (draw(3) == 0) options.max_open = 1 + draw(12);
    Runner runner;
    Script source;
    Witness witness;
    std::int64_t asked_for = 0, left = draw(60);
    Nanos last_ns = 0;
    const auto come = [&] {
      for (std::int64_t n = draw(4); n > 0 && left > 0; --n, --left) {
        last_ns = std::max(last_ns, runner.now_ns + (draw(3) ? 0 : draw(300)));
        source.here.push_back(asked(std::to_string(asked_for++), last_ns, 1 + draw(60), 1 + draw(20), draw(25)));
      }
      for (std::int64_t n = draw(6) ? 0 : draw(5); n > 0 && asked_for > 0; --n) {
        const std::string id = std::to_string(draw(asked_for));
        const auto unread = [&](const IncomingRequest& request) { return request.record.id == id; };
        if (std::none_of(source.here.begin(), source.here.end(), unread)) source.cancelled.push_back(id);
      }
      source.ended = left == 0;
    };
    runner.on_sampled = come;
    source.on_wait = [&](int) {
      runner.now_ns += 20;
      come();
    };
    std::set<std::string> answered;
    ServingLoop loop(options, runner, [&](const Completion& done) { EXPECT_TRUE(answered.insert(done.id).second); },
                     {&witness});
    loop.run(source, &kNoSignal);
    Summary s;
    loop.fill(s);
    EXPECT_TRUE(runner.running.empty());
    EXPECT_EQ(static_cast<std::int64_t>(witness.closed.size()), asked_for);
    EXPECT_EQ(s.injected, asked_for);
    EXPECT_EQ(asked_for, *s.completed + *s.rejected + *s.timed_out + s.cancelled);
    EXPECT_EQ(static_cast<std::int64_t>(answered.size()), asked_for - s.cancelled);
    for (const std::int64_t used : witness.kv_blocks_used) EXPECT_EQ(used, 0);
    for (const auto& [id, completion] : witness.closed)
      EXPECT_EQ(completion.finish_reason == "cancelled", !answered.contains(id));
    all_complete += *s.completed;
    all_cancelled += s.cancelled;
  }
  EXPECT_GT(all_cancelled, 200);
  EXPECT_GT(all_complete, 1'000);
}

}  // namespace
}  // namespace afore::host
