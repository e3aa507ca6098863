// Requests add up in every scrape, whatever happens meanwhile: injected = completed + queued + running + rejected +
// timed out + cancelled, and no counter falls.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "../host/fake_runner.h"
#include "http/metrics.h"

namespace afore::http {
namespace {

using host::LiveRequests;

std::int64_t value(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\n" + name + " ");
  EXPECT_NE(at, std::string::npos) << name;
  return std::strtoll(text.c_str() + at + name.size() + 2, nullptr, 10);
}

class Scraper {
 public:
  explicit Scraper(Metrics& metrics) : metrics_(metrics) {}

  void look() {
    const std::string text = metrics_.text({});
    std::int64_t sum = 0;
    for (const char* name : {"completed_total", "rejected_total", "timed_out_total", "cancelled_total"}) {
      const std::int64_t now = value(text, std::string("afore_requests_") + name);
      EXPECT_GE(now, last_[name]) << name << " falls";
      last_[name] = now;
      sum += now;
    }
    const std::int64_t queued = value(text, "afore_requests_queued"), running = value(text, "afore_requests_running");
    const std::int64_t injected = value(text, "afore_requests_injected_total");
    EXPECT_GE(queued, 0);
    EXPECT_GE(running, 0);
    EXPECT_GE(injected, last_["injected"]);
    EXPECT_EQ(injected, sum + queued + running);
    last_["injected"] = injected;
    open_ = queued + running;
    most_running_ = std::max(most_running_, running);
    most_queued_ = std::max(most_queued_, queued);
    ++looks_;
  }
  std::int64_t last(const std::string& name) const { return last_.at(name); }
  std::int64_t open() const { return open_; }
  std::int64_t most_running() const { return most_running_; }
  std::int64_t most_queued() const { return most_queued_; }
  int looks() const { return looks_; }

 private:
  Metrics& metrics_;
  std::map<std::string, std::int64_t> last_;
  std::int64_t open_ = 0, most_running_ = 0, most_queued_ = 0;
  int looks_ = 0;
};

// Scrapes between any two observers' calls.
class Between final : public host::ServingObserver {
 public:
  explicit Between(Scraper& scraper) : scraper_(scraper) {}
  std::function<void()> turn{};

  void on_admitted(const std::string&, Nanos) override { scraper_.look(); }
  void on_token(const std::string&, bool, Nanos) override { scraper_.look(); }
  void on_closed(const Completion&, const pipeline::RequestTimes&) override { scraper_.look(); }
  void on_load(const host::ServingLoad&) override {
    if (turn) turn();
    scraper_.look();
  }

 private:
  Scraper& scraper_;
};

host::ServingLoopOptions tight(host::Draw& draw) {
  host::ServingLoopOptions options = host::plain(static_cast<int>(1 + draw(2)));
  options.serving.max_num_seqs = 1 + draw(4);
  options.serving.max_num_batched_tokens = 16;
  options.serving.kv_budget_tokens = 96;
  options.serving.max_queue_ns = 900;
  options.serving.timeout_ns = 2'000;
  return options;
}

TEST(MetricsRequests, AddUpAtEveryMoment) {
  std::map<std::string, std::int64_t> all;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    host::Draw draw{seed * 0x9e3779b97f4a7c15u};
    host::Runner runner;
    LiveRequests requests(3 + draw(6), [&] { return runner.now_ns; });
    Metrics metrics({"tiny", 1, [&] { return runner.now_ns; }, [&] { return requests.door(); }});
    Scraper scraper(metrics);
    Between before(scraper), between(scraper), after(scraper);
    int turns = 0, offered = 0;
    before.turn = [&] {
      const std::int64_t count = draw(4);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::string id = std::to_string(++offered);
        requests.submit(host::asked(id, 0, 1 + draw(draw(8) ? 20 : 200), 1 + draw(12)));
        scraper.look();
        if (draw(6) == 0) requests.cancel(id);
      }
      if (offered > 0 && draw(3) == 0) requests.cancel(std::to_string(1 + draw(offered)));
      if (++turns == 60) requests.close();
      if (turns > 50 && turns < 70) requests.submit(host::asked("late " + std::to_string(turns), 0, 1, 1));
    };
    const bool metrics_first = draw(2) == 0;
    std::vector<host::ServingObserver*> observers{&before, &metrics, &between, &requests, &after};
    if (!metrics_first) std::swap(observers[1], observers[3]);
    host::ServingLoop loop(tight(draw), runner, {}, observers);
    loop.run(requests, &host::kNoSignal);
    scraper.look();
    EXPECT_EQ(scraper.open(), 0);
    EXPECT_GT(scraper.most_running(), 0);
    EXPECT_GT(scraper.most_queued(), 0);

    loop.add_unread(requests.door().unread);
    Summary summary;
    loop.fill(summary);  // the loop's own count, by other code
    EXPECT_EQ(scraper.last("injected"), *summary.injected);
    EXPECT_EQ(scraper.last("completed_total"), *summary.completed);
    EXPECT_EQ(scraper.last("rejected_total"), *summary.rejected);
    EXPECT_EQ(scraper.last("timed_out_total"), *summary.timed_out);
    EXPECT_EQ(scraper.last("cancelled_total"), summary.cancelled);
    for (const char* name : {"completed_total", "rejected_total", "timed_out_total", "cancelled_total"})
      all[name] += scraper.last(name);
    all["full"] += requests.door().unread.full;
    all["draining"] += requests.door().unread.draining;
    all["unread"] += requests.door().unread.cancelled;
  }
  for (const auto& [name, count] : all) EXPECT_GT(count, 0) << name << " was never seen";
}

// Steps of a millisecond on a clock that all threads may read.
class TimedRunner final : public host::BareRunner {
 public:
  Nanos now() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
  }
  bool wait_sampled(int, const host::RunLimits&) override {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return true;
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TEST(MetricsRequests, AddUpWhileThreadsSubmitAndScrape) {
  TimedRunner runner;
  LiveRequests requests(8, [&] { return runner.now(); });
  Metrics metrics({"tiny", 1, [&] { return runner.now(); }, [&] { return requests.door(); }});
  host::ServingLoopOptions options = host::plain();
  options.serving.max_num_seqs = 4;
  host::ServingLoop loop(options, runner, {}, {&metrics, &requests});

  constexpr int kClients = 3, kRequests = 300;
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c)
    clients.emplace_back([&, c] {
      host::Draw draw{static_cast<std::uint64_t>(c + 1) * 0x9e3779b97f4a7c15u};
      for (int i = 0; i < kRequests; ++i) {
        const std::string id = std::to_string(c) + "/" + std::to_string(i);
        requests.submit(host::asked(id, 0, 1 + draw(20), 1 + draw(4)));
        if (draw(4) == 0) requests.cancel(id);
        if (draw(2) == 0) std::this_thread::sleep_for(std::chrono::microseconds(draw(400)));
      }
    });
  std::atomic<bool> ended{false};
  Scraper scrapers[] = {Scraper(metrics), Scraper(metrics)};
  std::vector<std::thread> threads;
  for (Scraper& scraper : scrapers)
    threads.emplace_back([&] {
      do scraper.look();
      while (!ended);
    });
  threads.emplace_back([&] {
    for (std::thread& client : clients) client.join();
    requests.close();
  });
  loop.run(requests, &host::kNoSignal);
  ended = true;
  for (std::thread& thread : threads) thread.join();
  scrapers[0].look();
  EXPECT_GT(scrapers[0].looks(), 10);
  EXPECT_EQ(scrapers[0].open(), 0);
  EXPECT_EQ(scrapers[0].last("injected"), kClients * kRequests);
  EXPECT_GT(scrapers[0].last("completed_total"), 0);
  EXPECT_GT(scrapers[0].last("rejected_total"), 0);
}

}  // namespace
}  // namespace afore::http
