// The parts that need no socket.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "http/auth.h"
#include "http/job_pool.h"
#include "http/mailbox.h"
#include "http/request_parser.h"
#include "http/router.h"

namespace afore::http {
namespace {

TEST(Parser, StopsBehindTheHeaderAndBehindTheRequest) {
  const Limits limits;
  RequestParser parser(limits);
  const std::string head = "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n", bytes = head + "abcGET /";
  std::size_t taken = parser.feed(bytes);
  EXPECT_EQ(taken, head.size());
  EXPECT_EQ(parser.state(), RequestParser::State::body);
  EXPECT_EQ(parser.request().path, "/a");
  EXPECT_TRUE(parser.request().has_body);
  taken += parser.feed(std::string_view(bytes).substr(taken));
  EXPECT_EQ(taken, bytes.size() - 5);
  EXPECT_EQ(parser.state(), RequestParser::State::done);
  EXPECT_EQ(parser.request().body, "abc");
}

// `first` bytes, then `step` more whenever it takes none. Whether it came to an end.
bool feed_cut(RequestParser& parser, const std::string& bytes, std::size_t first, std::size_t step) {
  std::string held = bytes.substr(0, first);
  std::size_t next = first;
  for (;;) {
    const std::size_t taken = parser.feed(held);
    held.erase(0, taken);
    if (parser.state() == RequestParser::State::done || parser.state() == RequestParser::State::refused) return true;
    if (taken > 0) continue;
    if (next >= bytes.size()) return false;
    held += bytes.substr(next, step);
    next = std::min(bytes.size(), next + step);
  }
}

TEST(Parser, AnyCutGivesTheSameRequest) {
  const Limits limits;
  const std::string bytes =
      "\r\n\r\nPOST /tokenize HTTP/1.1\r\nHost: x\r\nX-Request-ID: 7\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;a=\"b\"\r\nabc\r\n0a\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n";
  for (std::size_t first = 1; first < bytes.size(); ++first) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, bytes.size()}) {
      RequestParser parser(limits);
      ASSERT_TRUE(feed_cut(parser, bytes, first, step)) << first << " " << step;
      ASSERT_EQ(parser.state(), RequestParser::State::done) << first << " " << step << parser.refusal().why;
      ASSERT_EQ(parser.request().body, "abc0123456789");
      ASSERT_EQ(parser.request().request_id, "7");
    }
  }
}

// A trailer, a chunk's header, and many of those.
TEST(Parser, FramingIsBoundedHoweverItIsCut) {
  Limits limits;
  limits.header_bytes = 256;
  const auto refused = [&](const std::string& body) {
    const std::string bytes = "POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
    RequestParser whole(limits), cut(limits);
    EXPECT_TRUE(feed_cut(whole, bytes, bytes.size(), 1));
    EXPECT_TRUE(feed_cut(cut, bytes, 1, 7));
    EXPECT_EQ(whole.state(), cut.state()) << whole.refusal().why << cut.refusal().why;
    EXPECT_EQ(whole.refusal().status, whole.state() == RequestParser::State::refused ? 400 : 0);
    return whole.state() == RequestParser::State::refused;
  };
  const auto trailer = [](std::size_t bytes) { return "0\r\nT: " + std::string(bytes - 10, 't') + "\r\n\r\n"; };
  EXPECT_FALSE(refused("3\r\nabc\r\n" + trailer(254)));  // with the line break behind the chunk
  EXPECT_TRUE(refused("3\r\nabc\r\n" + trailer(257)));
  const auto chunk = [](std::size_t bytes) { return "1;" + std::string(bytes - 4, 'a') + "\r\nx\r\n"; };
  EXPECT_FALSE(refused(chunk(256) + "0\r\n\r\n"));
  EXPECT_TRUE(refused(chunk(257) + "0\r\n\r\n"));
  std::string many;
  for (int i = 0; i < 300; ++i) many += chunk(240);
  EXPECT_TRUE(refused(many + "0\r\n\r\n"));
}

TEST(Auth, OnlyTheTokenItself) {
  EXPECT_TRUE(bears_token("Bearer abc", "abc"));
  EXPECT_TRUE(bears_token("BEARER  abc", "abc"));
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer ab", "Bearer abcd", "Bearer abcabc", "Bearer Abc",
                            "Bearer bbc", "Bearer abd", "Bearer aaa", "abc", "Basic abc", "Bearer abc "}) {
    EXPECT_FALSE(bears_token(wrong, "abc")) << wrong;
  }
  EXPECT_FALSE(bears_token(std::string("Bearer \0", 8), "abc"));
}

TEST(Router, TellsWhatAPathTakes) {
  EXPECT_EQ(route(Method::get, "/health").status, 200);
  EXPECT_EQ(route(Method::head, "/health").route, Route::health);
  EXPECT_EQ(route(Method::post, "/health").status, 405);
  EXPECT_STREQ(route(Method::head, "/tokenize").allow, "POST");
  for (const char* path : {"", "/", "/health/", "health", "/HEALTH", "/v1/models/fake", "*"}) {
    EXPECT_EQ(route(Method::get, path).status, 404) << path;
  }
}

TEST(Jobs, AreBounded) {
  JobPool pool(1, 2);
  std::promise<void> go;
  std::atomic<int> done{0};
  EXPECT_TRUE(pool.submit([&, gate = go.get_future().share()] {
    gate.wait();
    ++done;
  }));
  EXPECT_TRUE(pool.submit([&] { ++done; }));
  EXPECT_FALSE(pool.submit([&] { ++done; }));
  go.set_value();
  while (done < 2) std::this_thread::yield();
  while (!pool.submit([&] { ++done; })) std::this_thread::yield();
  while (done < 3) std::this_thread::yield();
  pool.stop();
  EXPECT_FALSE(pool.submit([] {}));
}

class Counted : public Receiver {
 public:
  void on_mail() override { ++mails; }
  int mails = 0;
};

TEST(Mail, OneWakeUpForABurst) {
  int wakes = 0;
  Mailbox mailbox([&] { ++wakes; });
  const auto a = std::make_shared<Counted>(), b = std::make_shared<Counted>();
  for (int i = 0; i < 1000; ++i) {
    mailbox.ring(a);
    mailbox.ring(b);
  }
  EXPECT_EQ(wakes, 1);
  mailbox.deliver();
  EXPECT_EQ(a->mails, 1);
  EXPECT_EQ(b->mails, 1);
  mailbox.ring(a);
  EXPECT_EQ(wakes, 2);
  mailbox.close();
  mailbox.ring(b);
  mailbox.deliver();
  EXPECT_EQ(a->mails, 1);
  EXPECT_EQ(wakes, 2);
}

}  // namespace
}  // namespace afore::http
