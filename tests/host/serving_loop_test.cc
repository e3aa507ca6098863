// The loop over a runner of a few lines: a step takes a fixed time, tokens are numbers.
#include "host/serving_loop.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fake_runner.h"

namespace afore::host {
namespace {

struct Served {
  std::vector<Completion> completions;
  Summary summary;
  bool stopped = false;
};

Served serve(const ServingLoopOptions& options, Runner& runner, const std::vector<IncomingRequest>& requests,
             const StopFlag* stop = &kNoSignal) {
  Served result;
  ServingLoop loop(options, runner, [&](const Completion& done) { result.completions.push_back(done); });
  FiniteRequests source = feed(requests);
  result.stopped = loop.run(source, stop);
  loop.fill(result.summary);
  return result;
}

TEST(ServingLoop, AllMicrobatchesBeginBeforeTheFurtherLayersOfAll) {
  Runner runner;
  serve(plain(2), runner, {asked("a", 0, 3, 2), asked("b", 0, 3, 2)});
  EXPECT_EQ(runner.log,
            (Log{"admit a", "begin 0/0 prefill", "admit b", "begin 0/1 prefill", "layer 1/0", "layer 1/1",
                 "begin 1/0 decode", "begin 1/1 decode", "layer 1/0", "layer 1/1", "close a", "close b", "finish"}));
}

TEST(ServingLoop, WithoutWorkItWaitsForTheNextArrival) {
  Runner runner;
  const Served result = serve(plain(), runner, {asked("a", 50, 1, 1), asked("b", 900, 1, 1)});
  EXPECT_EQ(runner.log, (Log{"wait 50", "admit a", "begin 0/0 prefill", "layer 1/0", "close a", "wait 900", "admit b",
                             "begin 1/0 prefill", "layer 1/0", "close b", "finish"}));
  EXPECT_EQ(result.completions[1].times->finished_ns, 900 + kStepNs);
}

TEST(ServingLoop, ATokenThatEndsARequestStopsIt) {
  Runner runner;
  const Served result = serve(plain(), runner, {asked("a", 0, 2, 5, 3), asked("b", 0, 2, 4), asked("c", 0, 2, 2, 2)});
  ASSERT_EQ(result.completions.size(), 3u);
  const Completion &c = result.completions[0], &a = result.completions[1], &b = result.completions[2];
  EXPECT_EQ(c.id, "c");
  EXPECT_EQ(c.finish_reason, "stop");  // by the token, though it had no more
  EXPECT_EQ(a.id, "a");
  EXPECT_EQ(a.finish_reason, "stop");
  EXPECT_EQ(a.output_tokens, 3);
  EXPECT_EQ(a.token_ids, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(a.text, "text of a");
  EXPECT_EQ(*a.times->first_token_ns, kStepNs);
  EXPECT_EQ(a.times->finished_ns, 3 * kStepNs);
  EXPECT_EQ(b.finish_reason, "length");
  EXPECT_EQ(b.output_tokens, 4);
  EXPECT_EQ(result.summary.completed, 3);
  EXPECT_EQ(result.summary.total_output_tokens, 3 + 4 + 2);
  EXPECT_DOUBLE_EQ(*result.summary.tpot.mean, kStepNs / 1e6);
  EXPECT_EQ(result.summary.itl.n, 2 + 3 + 1);
}

TEST(ServingLoop, WhoNeverRanIsAnsweredWithoutTheRunner) {
  ServingLoopOptions options = plain();
  options.serving.max_num_seqs = 1;
  options.serving.max_queue = 1;
  options.serving.max_queue_ns = 150;
  Runner runner;
  const Served result =
      serve(options, runner, {asked("runs", 0, 1, 9), asked("waits", 10, 1, 1), asked("no room", 20, 1, 1)});
  ASSERT_EQ(result.completions.size(), 3u);
  EXPECT_EQ(result.completions[0].id, "no room");
  EXPECT_EQ(result.completions[0].reject_reason, "queue_full");
  EXPECT_EQ(result.completions[1].id, "waits");
  EXPECT_EQ(result.completions[1].reject_reason, "queue_time");
  EXPECT_EQ(result.completions[1].times->finished_ns, 160);
  EXPECT_EQ(result.completions[1].text, "");
  EXPECT_EQ(std::count(runner.log.begin(), runner.log.end(), "admit waits"), 0);
  EXPECT_EQ(std::count(runner.log.begin(), runner.log.end(), "close waits"), 0);
}

TEST(ServingLoop, ATimeoutTellsWhatWasSampledBefore) {
  ServingLoopOptions options = plain();
  options.serving.timeout_ns = 250;
  Runner runner;
  const Served result = serve(options, runner, {asked("a", 0, 1, 9)});
  ASSERT_EQ(result.completions.size(), 1u);
  EXPECT_EQ(result.completions[0].finish_reason, "timeout");
  EXPECT_EQ(result.completions[0].token_ids, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_TRUE(runner.running.empty());
  EXPECT_EQ(result.summary.timed_out, 1);
}

TEST(ServingLoop, EndsAtTheGivenTime) {
  ServingLoopOptions options = plain();
  options.end_ns = 250;
  Runner runner;
  const Served result = serve(options, runner, {asked("a", 0, 1, 9), asked("late", 250, 1, 1), asked("no", 251, 1, 1)});
  EXPECT_EQ(runner.now_ns, 250);
  EXPECT_EQ(result.summary.injected, 2);
  EXPECT_EQ(result.summary.running, 1);
  EXPECT_EQ(result.summary.queued, 1);
  EXPECT_EQ(runner.log.back(), "finish");
  EXPECT_FALSE(result.stopped);
  Runner idle;  // nobody is there when it ends
  serve(options, idle, {asked("after", 1'000, 1, 1)});
  EXPECT_EQ(idle.log, (Log{"wait 250", "finish"}));
}

TEST(ServingLoop, EndsWhenSoManyStepsAreSampled) {
  ServingLoopOptions options = plain(2);
  options.steps = 2;
  Runner runner;
  const Served result = serve(options, runner, {asked("a", 0, 1, 2), asked("b", 0, 1, 9), asked("late", 300, 1, 1)});
  EXPECT_EQ(runner.log, (Log{"admit a", "begin 0/0 prefill", "admit b", "begin 0/1 prefill", "layer 1/0", "layer 1/1",
                             "begin 1/0 decode", "begin 1/1 decode", "layer 1/0", "layer 1/1", "close a", "finish"}));
  ASSERT_EQ(result.completions.size(), 1u);  // its last token is of the last step
  EXPECT_EQ(result.completions[0].id, "a");
  EXPECT_EQ(result.summary.running, 1);
  EXPECT_EQ(result.summary.duration, 4 * kStepNs / 1e9);
  options.steps = 50;  // more than there is to do
  Runner all;
  EXPECT_EQ(serve(options, all, {asked("a", 0, 1, 2), asked("b", 900, 1, 9)}).completions.size(), 2u);
}

TEST(ServingLoop, WhoFindsNoPlaceArrivesWhenAnotherEnds) {
  ServingLoopOptions options = plain();
  options.max_open = 2;
  Runner runner;
  const Served result = serve(
      options, runner,
      {asked("a", 0, 1, 2), asked("b", 0, 1, 5), asked("c", 0, 1, 1), asked("d", 250, 1, 1), asked("e", 1'000, 1, 1)});
  std::map<std::string, Nanos> arrival;
  for (const Completion& done : result.completions) arrival[done.id] = done.times->arrival_ns;
  EXPECT_EQ(arrival, (std::map<std::string, Nanos>{{"a", 0}, {"b", 0}, {"c", 200}, {"d", 300}, {"e", 1'000}}));
  EXPECT_EQ(result.summary.peak_running, 2);
  EXPECT_EQ(result.summary.rejected, 0);
}

TEST(ServingLoop, ASignalEndsItBetweenSteps) {
  StopFlag stop{0};
  Runner runner;
  int steps = 0;
  runner.on_sampled = [&] {
    if (++steps == 3) stop = 2;
  };
  const Served result = serve(plain(), runner, {asked("a", 0, 1, 100)}, &stop);
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.summary.running, 1);
  EXPECT_EQ(std::count(runner.log.begin(), runner.log.end(), "begin 2/0 decode"), 1);
  EXPECT_EQ(std::count(runner.log.begin(), runner.log.end(), "begin 3/0 decode"), 0);
  EXPECT_EQ(runner.log.back(), "finish");
}

// Random load and ends: each request is answered once, with the tokens it was to have.
TEST(ServingLoop, NothingIsLostOrAnsweredTwice) {
  std::int64_t all_complete = 0, all_stopped = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw{seed};
    ServingLoopOptions options = plain(static_cast<int>(1 + draw(4)));
    options.layers = 1 + draw(3);
    options.serving.attention_workers = static_cast<int>(1 + draw(3));
    options.serving.max_num_seqs = 1 + draw(6);
    options.serving.max_num_batched_tokens = options.serving.max_num_seqs + draw(30);
    options.serving.kv_budget_tokens = 32 + draw(200);
    options.serving.max_queue = 1 + draw(10);
    if (draw(2)) options.serving.max_queue_ns = draw(5'000);
    if (draw(2)) options.serving.timeout_ns = 1 + draw(10'000);
    if (draw(2)) options.max_open = 1 + draw(12);
    std::vector<IncomingRequest> requests;
    Nanos at = 0;
    for (std::int64_t n = draw(60); n > 0; --n) {
      at += draw(3) ? draw(300) : 0;
      requests.push_back(asked(std::to_string(requests.size()), at, 1 + draw(60), 1 + draw(20), draw(25)));
    }
    Runner runner;
    const Served result = serve(options, runner, requests);
    EXPECT_EQ(result.completions.size(), requests.size());
    std::set<std::string> ids;
    std::int64_t complete = 0, tokens = 0;
    for (const Completion& done : result.completions) {
      EXPECT_TRUE(ids.insert(done.id).second);
      const IncomingRequest& request = requests[std::stoul(done.id)];
      const auto last = static_cast<std::int64_t>(request.prompt->seed);
      const std::int64_t most = request.record.output_tokens;
      const bool stops = last > 0 && last <= most;
      if (done.finish_reason == "rejected" || done.finish_reason == "timeout") continue;
      EXPECT_EQ(done.finish_reason, stops ? "stop" : "length");
      EXPECT_EQ(done.output_tokens, stops ? last : most);
      EXPECT_EQ(done.output_tokens, std::ssize(done.token_ids));
      complete += 1;
      all_stopped += stops ? 1 : 0;
      tokens += done.output_tokens;
    }
    EXPECT_TRUE(runner.running.empty());
    EXPECT_EQ(result.summary.completed, complete);
    EXPECT_EQ(result.summary.total_output_tokens, tokens);
    all_complete += complete;
  }
  EXPECT_GT(all_stopped, 100);
  EXPECT_GT(all_complete - all_stopped, 100);
}

}  // namespace
}  // namespace afore::host
