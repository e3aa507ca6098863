// More than there is room for.
#include <sys/resource.h>
#include <sys/wait.h>

#include "harness.h"

namespace afore::http {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class Overload : public ServerTest {};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The `share` quantile of times, each of one GET /health over a connection that is kept.
double health_ms(Client& c, int n, double share) {
  std::vector<double> times;
  for (int i = 0; i < n; ++i) {
    const auto start = Clock::now();
    EXPECT_EQ(c.get("/health").status, 200);
    times.push_back(ms_since(start));
  }
  std::sort(times.begin(), times.end());
  return times[static_cast<std::size_t>(share * (n - 1))];
}

void need_files(rlim_t files) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(std::max(limit.rlim_cur, files), limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < files) GTEST_SKIP() << "only " << limit.rlim_cur << " files may be open";
}

TEST_F(Overload, HealthAnswersAmongAThousandSlowConnections) {
  need_files(6000);
  serve();
  std::vector<Client> slow;
  for (int i = 0; i < 1000; ++i) {
    slow.push_back(client());
    ASSERT_TRUE(slow.back().connected());
    if (i % 2) slow.back().send("GET /v1/models HTTP/1.1\r\nHost: x\r\n");
    else slow.back().send("POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  }
  std::atomic<bool> done{false};
  std::thread trickle([&] {
    for (std::size_t i = 0; !done; i = (i + 1) % slow.size()) {
      slow[i].send("X");
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  Client c = client();
  const double p99 = health_ms(c, 500, 0.99);
  done = true;
  trickle.join();
  std::printf("/health among 1,000 slow connections: p99 %.2f ms\n", p99);
  EXPECT_LT(p99, 100);
}

TEST_F(Overload, HealthAnswersWhileLargeBodiesAreRead) {
  serve();
  const std::string large = R"({"prompt":")" + std::string(1 << 20, 'a') + '"' + std::string(14 << 20, ' ') + '}';
  std::vector<std::thread> senders;
  std::atomic<int> answered{0};
  for (int i = 0; i < 3; ++i) {
    senders.emplace_back([&] {
      Client c = client();
      if (c.send_post("/v1/completions", large) && c.read(false, 60000).status == 400) ++answered;
    });
  }
  Client c = client();
  const double p99 = health_ms(c, 200, 0.99);
  for (std::thread& sender : senders) sender.join();
  std::printf("/health among bodies of 15 MiB: p99 %.2f ms\n", p99);
  EXPECT_EQ(answered, 3);
  EXPECT_LT(p99, 500);  // threads of the pool and of the clients have these cores, too
}

TEST_F(Overload, AThousandStreamsAtOnce) {
  need_files(6000);
  serve();
  std::vector<Client> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(client());
    ASSERT_TRUE(clients.back().send_post("/v1/completions", R"({"prompt":"a","stream":true,"max_tokens":20})"));
    if (i % 32 == 31) backend_.submitted(static_cast<std::size_t>(i));  // no more than the pool's jobs at a time
  }
  backend_.submitted(999);
  backend_.count(std::chrono::microseconds(1000));
  for (Client& c : clients) {
    const Response response = c.read(false, 60000);
    ASSERT_EQ(response.status, 200);
    ASSERT_TRUE(response.whole);
    std::string text;
    for (int token = 0; token < 20; ++token) {
      ASSERT_NE(response.body.find("\"" + std::to_string(token) + " \""), std::string::npos) << token;
    }
    ASSERT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
  }
}

TEST_F(Overload, FullPoolsSaySo) {
  Limits limits;
  limits.jobs = 1;
  limits.job_threads = 1;
  serve(limits);
  Client busy = client(), c = client();
  busy.send_post("/v1/afore/policy", R"({"policy":"slow"})");
  while (!backend_.entered) std::this_thread::yield();
  const auto start = Clock::now();
  const Response response = c.post("/v1/completions", R"({"prompt":"a"})");
  const double ms = ms_since(start);
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.field("retry-after"), "1");
  std::printf("429 of a full pool after %.2f ms\n", ms);
  EXPECT_LT(ms, 100);
  backend_.released = true;
  EXPECT_EQ(busy.read().status, 200);
  int status = 429;  // the answer is out a moment before its place is free
  for (int i = 0; i < 1000 && status == 429; ++i) status = c.post("/tokenize", R"({"prompt":"a"})").status;
  EXPECT_EQ(status, 200);
}

TEST_F(Overload, ConnectionsBeyondTheirNumberAreTold) {
  Limits limits;
  limits.connections = 3;
  serve(limits);
  std::vector<Client> kept;
  for (int i = 0; i < 3; ++i) {
    kept.push_back(client());
    EXPECT_EQ(kept.back().get("/health").status, 200);
  }
  Client beyond = client();
  EXPECT_EQ(beyond.read().status, 503);
  EXPECT_TRUE(beyond.closes());
  kept.pop_back();
  Response response;
  for (int i = 0; i < 200 && response.status != 200; ++i) response = client().get("/health");
  EXPECT_EQ(response.status, 200);
}

// In a child, whose files run out: those who wait are served when others are gone.
int serve_without_files() {
  FakeBackend backend;
  Server server({}, backend);
  constexpr int kClients = 40;
  std::vector<Client> clients;  // they wait in the system's queue
  for (int i = 0; i < kClients; ++i) clients.emplace_back(server.port());
  const int next = ::dup(0);
  ::close(next);
  const rlimit few{static_cast<rlim_t>(next + 8), static_cast<rlim_t>(next + 8)};
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 2;
  server.start();
  int answered = 0;
  for (Client& client : clients) {
    if (client.get("/health").status == 200) ++answered;
    client.close();
  }
  return answered == kClients ? 0 : 1;
}

TEST_F(Overload, FilesRunOut) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers' own checks open pipes, and fail where there are no files";
#endif
  const pid_t child = ::fork();
  if (child == 0) ::_exit(serve_without_files());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace afore::http
