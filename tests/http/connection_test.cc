// What a connection may take: time, requests one after the other and ahead, and clients that go away.
#include <nlohmann/json.hpp>

#include "harness.h"

namespace afore::http {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

const std::string kStream = R"({"prompt":"a","stream":true})";

class Connections : public ServerTest {};

TEST_F(Connections, SilentOnesAreClosed) {
  serve(quick_limits());
  const auto start = Clock::now();
  Client c = client();
  EXPECT_TRUE(c.closes());
  EXPECT_GE(seconds_since(start), 0.45);
  EXPECT_LT(seconds_since(start), 5);
  EXPECT_EQ(c.until("x"), "");
}

TEST_F(Connections, HeadersHaveADeadlineWhateverTricklesIn) {
  serve(quick_limits());
  Client c = client();
  const auto start = Clock::now();
  c.send("GET /health HTTP/1.1\r\n");
  while (seconds_since(start) < 5 && !c.more(50)) c.send("X: a\r\n");
  EXPECT_EQ(c.read().status, 408);
  EXPECT_LT(seconds_since(start), 3);
  EXPECT_TRUE(c.closes());
}

TEST_F(Connections, BodiesHaveARate) {
  Limits limits = quick_limits();
  limits.body_bytes_per_s = 1000;
  serve(limits);
  Client slow = client(), steady = client();
  const std::string head = "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 2013\r\n\r\n{\"prompt\":\"";
  slow.send(head);
  steady.send(head);
  const auto start = Clock::now();
  bool slow_ended = false;
  for (int i = 0; i < 20; ++i) {  // 100 bytes in 70 ms are enough, 10 are not
    steady.send(std::string(100, 'a'));
    if (!slow_ended) slow.send(std::string(10, 'a'));
    slow_ended = slow_ended || slow.more(1);
    std::this_thread::sleep_for(milliseconds(70));
  }
  steady.send("\"}");
  EXPECT_EQ(steady.read().status, 200) << "after " << seconds_since(start) << " s";
  EXPECT_EQ(slow.read().status, 408);
}

TEST_F(Connections, IdleOnesAreClosed) {
  serve(quick_limits());
  Client c = client();
  EXPECT_EQ(c.get("/health").status, 200);
  const auto start = Clock::now();
  EXPECT_TRUE(c.closes());
  EXPECT_GE(seconds_since(start), 0.9);
}

TEST_F(Connections, WaitingForTheModelHasNoDeadline) {
  serve(quick_limits());
  Client c = client();
  c.send_post("/v1/completions", R"({"prompt":"a"})");
  const std::string id = backend_.submitted();
  std::this_thread::sleep_for(milliseconds(1500));
  backend_.end(id, "stop", "late");
  EXPECT_EQ(c.read().status, 200);
}

TEST_F(Connections, AreKeptForThousandsOfRequests) {
  serve();
  Client c = client();
  for (int i = 0; i < 2000; ++i) {
    const Response response = i % 2 ? c.get("/health") : c.post("/tokenize", R"({"prompt":"ab"})");
    ASSERT_EQ(response.status, 200) << i;
    ASSERT_EQ(response.field("connection"), "") << i;
  }
}

TEST_F(Connections, CloseWhenAsked) {
  serve();
  Client c = client();
  EXPECT_EQ(c.get("/health", "Connection: close\r\n").field("connection"), "close");
  EXPECT_TRUE(c.closes());
  Client old = client();
  old.send("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(old.read().field("connection"), "keep-alive");
  old.send("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read().field("connection"), "close");
  EXPECT_TRUE(old.closes());
}

TEST_F(Connections, RequestsSentAheadAreAnsweredInOrder) {
  serve();
  Client c = client();
  std::string ahead;
  for (int i = 0; i < 500; ++i) {
    const std::string body = R"({"prompt":")" + std::string(static_cast<std::size_t>(i % 7 + 1), 'a') + "\"}";
    ahead += "POST /tokenize HTTP/1.1\r\nHost: x\r\nX-Request-Id: " + std::to_string(i) +
             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    if (i % 3 == 0) ahead += "GET /health HTTP/1.1\r\nHost: x\r\nX-Request-Id: h" + std::to_string(i) + "\r\n\r\n";
  }
  std::thread sender([&] { c.send(ahead); });
  for (int i = 0; i < 500; ++i) {
    const Response response = c.read();
    ASSERT_EQ(response.field("x-request-id"), std::to_string(i));
    ASSERT_EQ(nlohmann::json::parse(response.body)["count"], i % 7 + 1);
    if (i % 3 == 0) {
      ASSERT_EQ(c.read().field("x-request-id"), "h" + std::to_string(i));
    }
  }
  sender.join();
}

// Answers to a client that sends and never reads stay within their bound: the server stops reading from it.
TEST_F(Connections, AnswersNobodyReadsDoNotPileUp) {
  Limits limits = quick_limits();
  limits.write_time = Limits::Seconds(30);
  serve(limits);
  Client c = client(4096);
  const std::string request = "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n";
  std::string many;
  for (int i = 0; i < 1000; ++i) many += request;
  std::size_t sent = 0;
  const auto start = Clock::now();
  while (seconds_since(start) < 3) {
    const ssize_t n =
        ::send(c.fd(), many.data(), many.size() - many.size() % request.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<std::size_t>(n);
    else std::this_thread::sleep_for(milliseconds(10));
  }
  // Socket buffers and pipelined_bytes; each of these requests has an answer ten times as long.
  EXPECT_LT(sent, 16u << 20);
  EXPECT_EQ(client().get("/health").status, 200);
}

TEST_F(Connections, ClientsThatGoAreNoticedAtOnce) {
  serve();
  std::size_t n = 0;
  for (const bool stream : {true, false}) {
    for (const int how : {0, 1, 2}) {
      Client c = client();
      c.send_post("/v1/completions", stream ? kStream : R"({"prompt":"a"})");
      const std::string id = backend_.submitted(n++);
      if (stream) {
        backend_.say(id, "word");
        c.until("word");
      }
      if (how == 0) c.close();
      else if (how == 1) c.reset();
      else c.shut_send();
      const auto start = Clock::now();
      EXPECT_TRUE(backend_.was_cancelled(id, milliseconds(2000))) << stream << how;
      RecordProperty("cancel_ms", std::to_string(seconds_since(start) * 1e3));
      EXPECT_FALSE(backend_.say(id, "more"));
    }
  }
}

TEST_F(Connections, ClientsThatGoWhileTheirBodyIsReadAskNothingOfTheModel) {
  Limits limits;
  limits.job_threads = 1;
  serve(limits);
  Client busy = client();
  const std::string large = R"({"prompt":")" + std::string(4 << 20, 'a') + "\"}";
  busy.send_post("/tokenize", large);
  Client gone = client();
  gone.send_post("/v1/completions", kStream);
  std::this_thread::sleep_for(milliseconds(20));
  gone.close();
  EXPECT_EQ(busy.read().status, 200);
  EXPECT_EQ(client().post("/tokenize", R"({"prompt":"a"})").status, 200);
  EXPECT_EQ(backend_.open(), 0u);
}

TEST_F(Connections, ReadersWhoStopReadingAreCutOff) {
  serve();
  Client c = client(4096);
  c.send_post("/v1/completions", kStream);
  const std::string id = backend_.submitted();
  const std::string text(10000, 'a');
  std::size_t said = 0;
  while (said < 100'000 && backend_.say(id, text)) {
    ++said;
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  EXPECT_TRUE(backend_.was_cancelled(id, milliseconds(5000)));
  EXPECT_LT(said * text.size(), 64u << 20);  // the bound, and what the sockets hold
  std::printf("cut off after %zu KiB\n", said * text.size() >> 10);
}

TEST_F(Connections, WritesThatDoNotMoveEnd) {
  Limits limits = quick_limits();
  limits.stream_bytes = 1 << 30;
  serve(limits);
  Client c = client(4096);
  c.send_post("/v1/completions", kStream);
  const std::string id = backend_.submitted();
  for (int i = 0; i < 1000; ++i) backend_.say(id, std::string(10000, 'a'));
  EXPECT_TRUE(backend_.was_cancelled(id, milliseconds(10000)));
}

}  // namespace
}  // namespace afore::http
