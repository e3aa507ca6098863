// How a server begins and ends.
#include "harness.h"

namespace afore::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

const std::string kStream = R"({"prompt":"a","stream":true})";

class Lifecycle : public ServerTest {};

ErrorKind refusal(ServerOptions options) {
  FakeBackend backend;
  try {
    Server server(std::move(options), backend);
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::internal;
}

TEST_F(Lifecycle, AddressesThatAreRefused) {
  EXPECT_EQ(refusal({.host = "0.0.0.0"}), ErrorKind::usage);
  EXPECT_EQ(refusal({.host = "::"}), ErrorKind::usage);
  EXPECT_EQ(refusal({.host = "example"}), ErrorKind::usage);
  EXPECT_EQ(refusal({.host = "192.0.2.1", .token = "t"}), ErrorKind::io);
  serve();
  EXPECT_EQ(refusal({.port = server_->port()}), ErrorKind::io);
  Server open({.host = "0.0.0.0", .token = "t"}, backend_);
  EXPECT_GT(open.port(), 0);
}

TEST_F(Lifecycle, Ipv6) {
  std::unique_ptr<Server> server;
  try {
    server = std::make_unique<Server>(ServerOptions{.host = "::1"}, backend_);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  server->start();
  const int fd = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(static_cast<std::uint16_t>(server->port()));
  to.sin6_addr = in6addr_loopback;
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  ::close(fd);
}

TEST_F(Lifecycle, NeverStarted) { Server server({}, backend_); }

TEST_F(Lifecycle, StopCutsOffAndCancels) {
  serve();
  Client streams = client(), idle = client(), reads = client();
  streams.send_post("/v1/completions", kStream);
  const std::string id = backend_.submitted();
  idle.get("/health");
  reads.send("GET /v1/afore/demand HTTP/1.1\r\nHost: x\r\n\r\n");
  backend_.subscribers(1);
  const auto start = Clock::now();
  server_->stop();
  server_->stop();
  EXPECT_LT(Clock::now() - start, seconds(2));
  EXPECT_TRUE(backend_.was_cancelled(id, milliseconds(0)));
  for (Client* c : {&streams, &idle, &reads}) EXPECT_TRUE(c->closes());
  backend_.tell("nobody hears this\n");
  EXPECT_EQ(backend_.subscribers(0), 0u);
}

TEST_F(Lifecycle, DrainFinishesWhatRuns) {
  serve();
  Client streams = client(), waits = client(), idle = client(), late = client(), reads = client();
  streams.send_post("/v1/completions", kStream);
  const std::string first = backend_.submitted(0);
  waits.send_post("/v1/completions", R"({"prompt":"a"})");
  const std::string second = backend_.submitted(1);
  idle.get("/health");
  reads.send("GET /v1/afore/demand HTTP/1.1\r\nHost: x\r\n\r\n");
  backend_.subscribers(1);
  late.send("GET /health/ready HTTP/1.1\r\nHost: x\r\n");  // begun, so it is answered
  std::this_thread::sleep_for(milliseconds(100));

  std::thread drain([&] { server_->drain(seconds(30)); });
  EXPECT_TRUE(idle.closes());
  EXPECT_FALSE(client().connected());
  late.send("\r\n");
  const Response ready = late.read();
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(ready.body.find("draining"), std::string::npos);
  EXPECT_TRUE(late.closes());

  backend_.say(first, "still here");
  EXPECT_NE(streams.until("still here").find("still here"), std::string::npos);
  backend_.end(first);
  EXPECT_NE(streams.until("[DONE]").find("[DONE]"), std::string::npos);
  backend_.tell("a last record\n");
  backend_.end(second, "stop", "done");
  EXPECT_EQ(waits.read().status, 200);
  for (Client* c : {&streams, &waits}) EXPECT_TRUE(c->closes());
  const std::string records = reads.until("0\r\n\r\n");
  EXPECT_NE(records.find("a last record\n"), std::string::npos);
  EXPECT_TRUE(records.ends_with("0\r\n\r\n"));
  for (Client* c : {&streams, &waits, &reads}) c->close();
  drain.join();
  EXPECT_EQ(backend_.cancelled(), 0u);
}

TEST_F(Lifecycle, DrainEndsAtItsLimit) {
  serve();
  Client c = client();
  c.send_post("/v1/completions", kStream);
  const std::string id = backend_.submitted();
  const auto start = Clock::now();
  server_->drain(milliseconds(300));
  EXPECT_GE(Clock::now() - start, milliseconds(290));
  EXPECT_LT(Clock::now() - start, seconds(3));
  EXPECT_TRUE(backend_.was_cancelled(id, milliseconds(0)));
  EXPECT_TRUE(c.closes());
}

TEST_F(Lifecycle, StopEndsADrain) {
  serve();
  Client c = client();
  c.send_post("/v1/completions", kStream);
  backend_.submitted();
  std::thread drain([&] { server_->drain(seconds(60)); });
  std::this_thread::sleep_for(milliseconds(100));
  const auto start = Clock::now();
  server_->stop();
  drain.join();
  EXPECT_LT(Clock::now() - start, seconds(3));
}

TEST_F(Lifecycle, NewRequestsAreRefusedWhileItDrains) {
  serve();
  Client runs = client(), late = client();
  runs.send_post("/v1/completions", kStream);
  const std::string id = backend_.submitted();
  late.send("POST /v1/completions HTTP/1.1\r\n");
  std::this_thread::sleep_for(milliseconds(100));
  std::thread drain([&] { server_->drain(seconds(30)); });
  EXPECT_TRUE([&] {
    for (int i = 0; i < 500; ++i) {
      if (!client().connected()) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }());
  late.send("Host: x\r\nContent-Length: 14\r\n\r\n{\"prompt\":\"a\"}");
  const Response response = late.read();
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.field("connection"), "close");
  backend_.end(id);
  runs.until("[DONE]");
  runs.close();
  late.close();
  drain.join();
}

}  // namespace
}  // namespace afore::http
