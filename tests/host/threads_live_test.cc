// Live requests to a model on threads: clients that go away, and records while nobody asks for anything.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "host/live_requests.h"
#include "real_model.h"

namespace afore::host {
namespace {

std::vector<IncomingRequest> long_requests(std::int64_t count) {
  Draw draw{11};
  std::vector<IncomingRequest> requests;
  for (std::int64_t i = 0; i < count; ++i) {
    IncomingRequest request = ask("r" + std::to_string(i), words(draw, 3 + draw(20)), 6 + draw(6), 1000 + i);
    auto prompt = std::make_shared<Prompt>(*request.prompt);
    prompt->ignore_eos = true;
    request.prompt = std::move(prompt);
    requests.push_back(std::move(request));
  }
  return requests;
}

struct StepCount final : ServingObserver {
  void on_step(const StepTokens&) override { steps += 1; }
  std::atomic<std::int64_t> steps{0};
};

bool soon(const std::function<bool()>& is_so) {
  for (int i = 0; i < 3'000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return is_so();
}

TEST(ThreadsLive, WhoGoesAwayLeavesNothingBehind) {
  ModelRun run = plain_run(long_requests(24));
  run.serving.serving.max_num_seqs = 5;
  const Answers want = in_one_piece(run);

  std::atomic<std::int64_t> begun{0}, observed{0}, answers{0};
  std::map<std::string, std::int64_t> told;  // tokens, by the loop's thread
  std::set<std::string> leave;
  for (std::size_t i = 0; i < run.requests.size(); i += 3) leave.insert(run.requests[i].record.id);
  LiveRequests* door = nullptr;
  ThreadSink sink;
  sink.planned = [&](const Batch* batch, const Demand&, const pipeline::PlannedTarget&) {
    if (batch != nullptr) begun += 1;
  };
  sink.observed = [&](const Observed&) { observed += 1; };
  ThreadRunner runner(tiny_model(), run.threads, run.planner, sink,
                      [&](const std::string& id, std::string_view, std::int64_t tokens, bool last) {
                        EXPECT_FALSE(last && leave.contains(id));
                        told[id] = tokens;
                        if (tokens == 2 && leave.contains(id)) door->cancel(id);
                      });
  LiveRequests requests(64, [&] { return runner.now(); });
  door = &requests;
  StepCount count;
  std::map<std::string, Completion> got;
  ServingLoop loop(run.serving, runner,
                   [&](const Completion& done) {
                     got[done.id] = done;
                     answers += 1;
                   },
                   {&requests, &count});
  std::thread client([&] {
    for (const IncomingRequest& request : run.requests) EXPECT_EQ(requests.submit(request), Submission::accepted);
    const auto staying = static_cast<std::int64_t>(run.requests.size() - leave.size());
    EXPECT_TRUE(soon([&] { return answers == staying; }));
    // The last step's records do not wait for a request that may never come.
    EXPECT_TRUE(soon([&] { return begun == count.steps; }));
    EXPECT_TRUE(soon([&] { return observed == count.steps * std::ssize(run.threads.model.moe_layers); }));
    requests.close();
  });
  loop.run(requests, &kGoOn);
  client.join();

  EXPECT_EQ(got.size(), run.requests.size() - leave.size());
  for (const auto& [id, completion] : got) EXPECT_EQ(completion.token_ids, want.completions.at(id).token_ids) << id;
  for (const std::string& id : leave) EXPECT_EQ(told[id], 2) << id;
  Summary s;
  loop.fill(s);
  EXPECT_EQ(s.cancelled, static_cast<std::int64_t>(leave.size()));
  for (int a = 0; a < run.threads.cluster.attention_workers; ++a) {
    std::vector<std::int32_t> pages;
    device::PagePool& pool = runner.engine().attention(a).device().pages();
    EXPECT_NO_THROW(pool.extend(pages, run.threads.kv_budget_tokens));
    pool.release(pages);
  }
}

}  // namespace
}  // namespace afore::host
