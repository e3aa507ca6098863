// Requests between the threads that accept them and the one that serves.
#include "host/live_requests.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "fake_runner.h"

namespace afore::host {
namespace {

using Answer = Submission;
using Next = RequestSource::Next;

IncomingRequest live(std::string id) { return asked(std::move(id), 77, 1, 2); }

Completion ended(std::string id) {
  Completion completion;
  completion.id = std::move(id);
  return completion;
}

std::string id_of_next(LiveRequests& requests) {
  IncomingRequest request;
  return requests.next(request) == Next::request ? request.record.id : "";
}

TEST(LiveRequests, ArriveWhenTheyAreSubmitted) {
  Nanos now = 5;
  LiveRequests requests(10, [&] { return now; });
  requests.submit(live("a"));
  now = 9;
  requests.submit(live("b"));
  IncomingRequest request;
  EXPECT_EQ(requests.next(request), Next::request);
  EXPECT_EQ(request.record.id, "a");
  EXPECT_EQ(request.record.arrival_ns, 5);
  EXPECT_TRUE(request.prompt);
  EXPECT_EQ(requests.next(request), Next::request);
  EXPECT_EQ(request.record.arrival_ns, 9);
  EXPECT_EQ(requests.next(request), Next::none_yet);
}

TEST(LiveRequests, SoManyMayWait) {
  LiveRequests requests(2, [] { return Nanos{0}; });
  EXPECT_EQ(requests.submit(live("a")), Answer::accepted);
  EXPECT_EQ(requests.submit(live("b")), Answer::accepted);
  EXPECT_EQ(requests.submit(live("c")), Answer::full);
  EXPECT_EQ(id_of_next(requests), "a");
  EXPECT_EQ(requests.submit(live("c")), Answer::full);  // it waits in the loop's queue
  requests.on_admitted("a", 0);
  EXPECT_EQ(requests.submit(live("c")), Answer::accepted);
  EXPECT_EQ(id_of_next(requests), "b");
  requests.on_closed(ended("b"), {});  // timed out in the queue
  EXPECT_EQ(requests.submit(live("d")), Answer::accepted);
  requests.on_closed(ended("a"), {});  // it waited no more
  EXPECT_EQ(requests.submit(live("e")), Answer::full);
  EXPECT_EQ(requests.door().unread.full, 3);
}

TEST(LiveRequests, AfterTheCloseThoseThatWaitAreGiven) {
  LiveRequests requests(10, [] { return Nanos{0}; });
  requests.submit(live("a"));
  requests.close();
  EXPECT_EQ(requests.submit(live("b")), Answer::draining);
  EXPECT_EQ(id_of_next(requests), "a");
  IncomingRequest request;
  EXPECT_EQ(requests.next(request), Next::end);
  EXPECT_EQ(requests.door().unread.draining, 1);
  EXPECT_EQ(requests.door().unread.full, 0);
}

TEST(LiveRequests, CancelledBeforeItIsReadIsNeverGiven) {
  LiveRequests requests(2, [] { return Nanos{0}; });
  requests.submit(live("a"));
  requests.submit(live("b"));
  requests.cancel("a");
  EXPECT_EQ(requests.submit(live("c")), Answer::accepted);
  std::vector<std::string> cancelled;
  requests.take_cancelled(cancelled);
  EXPECT_TRUE(cancelled.empty());
  EXPECT_EQ(requests.door().unread.cancelled, 1);
  EXPECT_EQ(id_of_next(requests), "b");
}

TEST(LiveRequests, CancelledAfterwardsIsTheLoopsBusiness) {
  LiveRequests requests(2, [] { return Nanos{0}; });
  requests.submit(live("a"));
  id_of_next(requests);
  requests.cancel("a");
  std::vector<std::string> cancelled;
  requests.take_cancelled(cancelled);
  EXPECT_EQ(cancelled, std::vector<std::string>{"a"});
  requests.take_cancelled(cancelled);
  EXPECT_EQ(cancelled.size(), 1u);
  EXPECT_EQ(requests.door().unread.cancelled, 0);
}

TEST(LiveRequests, WaitingEndsWithWhatComesOrSoon) {
  LiveRequests requests(2, [] { return Nanos{0}; });
  const auto start = std::chrono::steady_clock::now();
  requests.wait();  // nothing comes
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  std::thread client([&] { requests.submit(live("a")); });
  while (id_of_next(requests) != "a") requests.wait();
  client.join();
}

// A pipeline in true time whose steps take none.
class TrueTimeRunner final : public BareRunner {
 public:
  Nanos now() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
  }
  bool wait_sampled(int, const RunLimits&) override { return true; }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Clients on threads submit, go away, and are told that there is no room; every one of them gets one answer.
TEST(LiveRequestsThreads, EveryRequestHasOneEnd) {
  constexpr int kClients = 4, kEach = 1'500;
  TrueTimeRunner runner;
  LiveRequests requests(8, [&] { return runner.now(); });
  ServingLoopOptions options = plain(2);
  options.serving.max_num_seqs = 4;
  options.serving.max_queue = 8;
  std::set<std::string> answered;  // the loop's thread alone
  ServingLoop loop(options, runner, [&](const Completion& done) { EXPECT_TRUE(answered.insert(done.id).second); },
                   {&requests});
  std::atomic<std::int64_t> accepted{0}, refused{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c)
    clients.emplace_back([&, c] {
      Draw draw{static_cast<std::uint64_t>(c)};
      for (int i = 0; i < kEach; ++i) {
        const std::string id = std::to_string(c) + "/" + std::to_string(i);
        const Answer answer = requests.submit(asked(id, 0, 1 + draw(8), 1 + draw(8)));
        (answer == Answer::accepted ? accepted : refused) += 1;
        if (draw(3) == 0) requests.cancel(id);
        if (answer == Answer::full) std::this_thread::yield();
      }
    });
  std::thread closer([&] {
    for (std::thread& client : clients) client.join();
    requests.close();
  });
  loop.run(requests, &kNoSignal);
  closer.join();
  EXPECT_EQ(requests.submit(live("late")), Answer::draining);
  const UnreadRequests unread = requests.door().unread;
  loop.add_unread(unread);
  Summary s;
  loop.fill(s);
  EXPECT_EQ(accepted + refused, kClients * kEach);
  EXPECT_EQ(unread.full, refused);
  EXPECT_EQ(s.injected, kClients * kEach + 1);
  EXPECT_EQ(*s.completed + s.cancelled, accepted);
  EXPECT_EQ(*s.rejected, refused + 1);
  EXPECT_EQ(static_cast<std::int64_t>(answered.size()), *s.completed);
  EXPECT_GT(*s.completed, 0);
  EXPECT_GT(s.cancelled, 0);
}

}  // namespace
}  // namespace afore::host
