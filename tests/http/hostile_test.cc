// Requests that no decent client sends: each has its answer, and none ends the server.
#include "harness.h"

namespace afore::http {
namespace {

class Hostile : public ServerTest {};

const std::string kHost = "Host: x\r\n";

std::string post(const std::string& fields, const std::string& body) {
  return "POST /tokenize HTTP/1.1\r\n" + kHost + fields + "\r\n" + body;
}
std::string chunked(const std::string& body) { return post("Transfer-Encoding: chunked\r\n", body); }
std::string many_fields(int n) {
  std::string fields;
  for (int i = 0; i < n; ++i) fields += "X-" + std::to_string(i) + ": a\r\n";
  return fields;
}

struct Case {
  const char* name;
  std::string bytes;
  int status;
};

std::vector<Case> cases() {
  const std::string large = "16777217";
  return {
      {"long line", "GET /" + std::string(5000, 'a') + " HTTP/1.1\r\n" + kHost + "\r\n", 414},
      {"endless line", "GET /" + std::string(9000, 'a'), 414},
      {"large header", "GET /health HTTP/1.1\r\n" + kHost + "X: " + std::string(8200, 'a') + "\r\n\r\n", 431},
      {"endless field", "GET /health HTTP/1.1\r\nX: " + std::string(9000, 'a'), 431},
      {"many fields", "GET /health HTTP/1.1\r\n" + kHost + many_fields(100) + "\r\n", 431},
      {"10,000 fields", "GET /health HTTP/1.1\r\n" + kHost + many_fields(10000) + "\r\n", 431},
      {"no HTTP", "\x16\x03\x01\x02 hello\r\n\r\n", 400},
      {"no method", " / HTTP/1.1\r\n\r\n", 400},
      {"no version", "GET /health\r\n\r\n", 400},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"version 1.9", "GET /health HTTP/1.9\r\n" + kHost + "\r\n", 505},
      {"bare line feeds", "GET /health HTTP/1.1\nHost: x\n\n", 400},
      {"no host", "GET /health HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET /health HTTP/1.1\r\n" + kHost + kHost + "\r\n", 400},
      {"space before colon", "GET /health HTTP/1.1\r\nHost : x\r\n\r\n", 400},
      {"zero in a value", "GET /health HTTP/1.1\r\nHost: x\r\nX: " + std::string(1, '\0') + "\r\n\r\n", 400},
      {"two tokens", "GET /v1/models HTTP/1.1\r\n" + kHost + "Authorization: a\r\nAuthorization: b\r\n\r\n", 400},
      {"other method", "BREW /health HTTP/1.1\r\n" + kHost + "\r\n", 405},
      {"unknown path", "GET /../../etc/passwd HTTP/1.1\r\n" + kHost + "\r\n", 404},
      {"declared too large", post("Content-Length: " + large + "\r\n", ""), 413},
      {"declared beyond 64 bits", post("Content-Length: 99999999999999999999\r\n", ""), 400},
      {"negative length", post("Content-Length: -1\r\n", ""), 400},
      {"two lengths", post("Content-Length: 1\r\nContent-Length: 2\r\n", "ab"), 400},
      {"length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"chunks and length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), 400},
      {"gzip", post("Transfer-Encoding: gzip\r\n", ""), 501},
      {"gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
      {"chunked twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"chunks of 1.0", "POST /tokenize HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"no chunk size", chunked("x\r\n"), 400},
      {"space behind a chunk size", chunked("2 \r\nab\r\n0\r\n\r\n"), 400},
      {"chunk too short", chunked("5\r\nab\r\n0\r\n\r\n"), 400},
      {"chunk too long", chunked("2\r\nabcdef\r\n0\r\n\r\n"), 400},
      {"chunk beyond the limit", chunked("1000001\r\n"), 413},
      {"chunk size beyond 64 bits", chunked("fffffffffffffffff\r\n"), 400},
      {"endless chunk extension", chunked("1;" + std::string(9000, 'a')), 400},
      {"endless trailer", chunked("0\r\nX: " + std::string(9000, 'a')), 400},
      {"other expectation", post("Expect: a-miracle\r\nContent-Length: 1\r\n", "a"), 417},
  };
}

TEST_F(Hostile, EachHasItsAnswer) {
  serve();
  for (const Case& hostile : cases()) {
    Client c = client();
    c.send(hostile.bytes);
    const Response response = c.read();
    EXPECT_EQ(response.status, hostile.status) << hostile.name << ": " << response.body;
    EXPECT_NE(response.field("x-request-id"), "") << hostile.name;
    if (response.status != 404 && response.status != 405) {
      EXPECT_EQ(response.field("connection"), "close") << hostile.name;
      EXPECT_TRUE(c.closes(3000)) << hostile.name;
    }
  }
  EXPECT_EQ(client().get("/health").status, 200);
}

TEST_F(Hostile, AlsoByteByByte) {
  serve();
  for (const Case& hostile : cases()) {
    if (hostile.bytes.size() > 300) continue;
    Client c = client();
    for (const char byte : hostile.bytes) {
      if (!c.send({&byte, 1})) break;
    }
    EXPECT_EQ(c.read().status, hostile.status) << hostile.name;
  }
}

TEST_F(Hostile, WhatIsOnlyOddIsServed) {
  serve();
  const std::vector<std::string> odd = {
      "\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /health HTTP/1.0\r\n\r\n",
      "GET /health?a=b&c HTTP/1.1\r\nhOST:x\r\n\r\n",
      "GET /health HTTP/1.1\r\n" + kHost + many_fields(99) + "\r\n",
      "GET /health HTTP/1.1\r\n" + kHost + "Content-Length: 2\r\n\r\nab",
      chunked("10\r\n{\"prompt\":\"abc\"}\r\n0\r\n\r\n"),
      chunked("f;name=value\r\n{\"prompt\":\"ab\"}\r\n0\r\nX: trailer\r\n\r\n"),
      post("Content-Length: 15, 15\r\n", "{\"prompt\":\"ab\"}"),
  };
  for (const std::string& bytes : odd) {
    Client c = client();
    c.send(bytes);
    EXPECT_EQ(c.read().status, 200) << bytes;
  }
}

TEST_F(Hostile, ContinueIsSaidWhereTheBodyIsWanted) {
  serve();
  Client c = client();
  const std::string expects = "Expect: 100-continue\r\nContent-Length: 15\r\n";
  c.send(post(expects, ""));
  EXPECT_EQ(c.read().status, 100);
  c.send("{\"prompt\":\"ab\"}");
  EXPECT_EQ(c.read().status, 200);
  c.send("POST /nowhere HTTP/1.1\r\n" + kHost + expects + "\r\n");
  EXPECT_EQ(c.read().status, 404);
  EXPECT_TRUE(c.closes());
  Client large = client();
  large.send(post("Expect: 100-continue\r\nContent-Length: 20000000\r\n", ""));
  EXPECT_EQ(large.read().status, 413);
}

TEST_F(Hostile, BodiesEndAtTheirLimit) {
  Limits limits;
  limits.body_bytes = 1000;
  serve(limits);
  const std::string prompt = R"({"prompt":")" + std::string(1000 - 13, 'a') + "\"}";
  ASSERT_EQ(prompt.size(), 1000u);
  EXPECT_EQ(client().post("/tokenize", prompt).status, 200);
  EXPECT_EQ(client().post("/tokenize", prompt + " ").status, 413);
  std::string pieces;
  for (const char byte : prompt) pieces += "1\r\n" + std::string(1, byte) + "\r\n";
  Client one = client(), more = client();
  one.send(chunked(pieces + "0\r\n\r\n"));
  EXPECT_EQ(one.read().status, 200);
  more.send(chunked(pieces + "1\r\n \r\n0\r\n\r\n"));
  EXPECT_EQ(more.read().status, 413);
}

TEST_F(Hostile, ChunksThatHoldNothingEnd) {
  serve();
  Client c = client();
  c.send(chunked(""));
  const std::string chunk = "1;" + std::string(4000, 'a') + "\r\nx\r\n";
  for (int i = 0; i < 1000 && c.send(chunk); ++i) {
  }
  EXPECT_EQ(c.read().status, 400);
}

// 10 GB, as far as the server takes them.
TEST_F(Hostile, HugeBodyIsNotRead) {
  serve();
  Client c = client();
  c.send(post("Content-Length: 10000000000\r\n", ""));
  EXPECT_EQ(c.read().status, 413);
  const std::string piece(1 << 20, 'a');
  std::size_t sent = 0;
  while (sent < 10'000 && c.send(piece)) ++sent;
  EXPECT_LT(sent, 10'000u);
}

TEST_F(Hostile, AllBodiesTogetherAreBounded) {
  Limits limits;
  limits.small_body_bytes = 1000;
  limits.all_bodies_bytes = 5000;
  serve(limits);
  std::vector<Client> holders;
  for (int i = 0; i < 2; ++i) {
    holders.push_back(client());
    holders.back().send(post("Content-Length: 4000\r\n", std::string(3000, ' ')));  // 2,000 beyond the small ones
  }
  Client refused = client();
  // The holders' bytes may come later.
  Response response;
  for (int i = 0; i < 100 && response.status != 429; ++i) {
    Client c = client();
    response = c.post("/tokenize", R"({"prompt":")" + std::string(2500, 'a') + "\"}");
  }
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.field("retry-after"), "1");
  EXPECT_EQ(client().post("/tokenize", R"({"prompt":"a"})").status, 200);
  holders.clear();
  for (int i = 0; i < 1000 && response.status != 200; ++i) {
    response = client().post("/tokenize", R"({"prompt":")" + std::string(2500, 'a') + "\"}");
  }
  EXPECT_EQ(response.status, 200);
}

}  // namespace
}  // namespace afore::http
