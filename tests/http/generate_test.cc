// Completions and chats: what reaches the model, and what comes back.
#include <nlohmann/json.hpp>

#include "harness.h"

namespace afore::http {
namespace {

using nlohmann::json;

class Generate : public ServerTest {};

// The JSON objects of a stream, without its last event, [DONE].
std::vector<json> events(const std::string& body) {
  std::vector<json> all;
  std::size_t at = 0;
  bool done = false;
  while (at < body.size()) {
    const auto end = body.find("\n\n", at);
    EXPECT_NE(end, std::string::npos);
    const std::string event = body.substr(at, end - at);
    EXPECT_TRUE(event.starts_with("data: ")) << event;
    EXPECT_FALSE(done);
    if (event == "data: [DONE]") done = true;
    else all.push_back(json::parse(event.substr(6)));
    at = end + 2;
  }
  EXPECT_TRUE(done);
  return all;
}

TEST_F(Generate, CompletionAsOneAnswer) {
  serve();
  Client c = client();
  c.send_post("/v1/completions", R"({"model":"fake","prompt":"ab","max_tokens":3,"temperature":0.5,"top_p":0.25,)"
                                 R"("seed":7,"stop":["x"],"ignore_eos":true,"repetition_penalty":1.0})");
  const std::string id = backend_.submitted();
  const host::Prompt prompt = backend_.prompt();
  EXPECT_EQ(prompt.token_ids, (std::vector<int>{97, 98}));
  EXPECT_EQ(prompt.temperature, 0.5);
  EXPECT_EQ(prompt.top_p, 0.25);
  EXPECT_EQ(prompt.seed, 7u);
  EXPECT_EQ(prompt.stop, std::vector<std::string>{"x"});
  EXPECT_TRUE(prompt.ignore_eos);
  EXPECT_EQ(backend_.max_tokens(), 3);
  backend_.say(id, "one");
  backend_.say(id, "");
  backend_.end(id, "length", " two");
  const Response response = c.read();
  EXPECT_EQ(response.status, 200);
  const json answer = json::parse(response.body);
  EXPECT_EQ(answer["id"], id);
  EXPECT_TRUE(id.starts_with("cmpl-"));
  EXPECT_EQ(answer["model"], "fake");
  EXPECT_EQ(answer["choices"][0]["text"], "one two");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"], json({{"prompt_tokens", 2}, {"completion_tokens", 2}, {"total_tokens", 4}}));
}

TEST_F(Generate, PromptsOfIds) {
  serve();
  Client c = client();
  c.send_post("/v1/completions", R"({"prompt":[1,2,255]})");
  EXPECT_EQ(backend_.prompt().token_ids, (std::vector<int>{1, 2, 255}));
  EXPECT_EQ(backend_.max_tokens(), 16);
}

TEST_F(Generate, SeedsDifferWhereNoneIsNamed) {
  serve();
  Client a = client(), b = client();
  a.send_post("/v1/completions", R"({"prompt":"a"})");
  backend_.submitted(0);
  b.send_post("/v1/completions", R"({"prompt":"a"})");
  EXPECT_NE(backend_.prompt(0).seed, backend_.prompt(1).seed);
  EXPECT_NE(backend_.submitted(0), backend_.submitted(1));
}

TEST_F(Generate, ChatTakesWhatIsLeftOfTheContext) {
  backend_.has_template = true;
  serve();
  Client c = client();
  c.send_post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}]})");
  const std::string id = backend_.submitted();
  EXPECT_TRUE(id.starts_with("chatcmpl-"));
  EXPECT_EQ(backend_.prompt().token_ids.size(), 8u);  // [user]hi
  EXPECT_EQ(backend_.max_tokens(), 56);
  backend_.end(id, "stop", "hello");
  const json answer = json::parse(c.read().body);
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "hello");
  EXPECT_EQ(answer["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(answer["object"], "chat.completion");
}

TEST_F(Generate, StreamHasAnEventForEachToken) {
  serve();
  Client c = client();
  c.send_post("/v1/completions", R"({"prompt":"a","stream":true,"stream_options":{"include_usage":true}})");
  const std::string id = backend_.submitted();
  for (const char* text : {"one", "", " two", " three"}) backend_.say(id, text);
  backend_.end(id, "stop", "!");
  const Response response = c.read();
  EXPECT_EQ(response.field("content-type"), "text/event-stream");
  EXPECT_TRUE(response.whole);
  std::string text;
  const std::vector<json> all = events(response.body);
  ASSERT_GE(all.size(), 4u);
  for (const json& event : all) {
    if (!event["choices"].empty()) text += event["choices"][0]["text"].get<std::string>();
  }
  EXPECT_EQ(text, "one two three!");
  EXPECT_EQ(all[all.size() - 2]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(all.back()["usage"], json({{"prompt_tokens", 1}, {"completion_tokens", 4}, {"total_tokens", 5}}));
  EXPECT_EQ(c.get("/health").status, 200);  // the connection goes on
}

TEST_F(Generate, StreamsComeAsTheyAreMade) {
  serve();
  Client c = client();
  c.send_post("/v1/completions", R"({"prompt":"a","stream":true})");
  const std::string id = backend_.submitted();
  for (const std::string text : {"alpha", "beta", "gamma"}) {
    backend_.say(id, text);
    EXPECT_NE(c.until(text).find(text), std::string::npos);
  }
  backend_.end(id);
  EXPECT_NE(c.until("data: [DONE]\n\n\r\n0\r\n\r\n").find("[DONE]"), std::string::npos);
}

TEST_F(Generate, ChatStreamSpeaksOnce) {
  backend_.has_template = true;
  serve();
  Client c = client();
  c.send_post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"a"}],"stream":true})");
  const std::string id = backend_.submitted();
  backend_.say(id, "x");
  c.until("\"x\"");
  backend_.say(id, "y");
  backend_.end(id);
  const std::string rest = c.until("[DONE]");
  EXPECT_EQ(rest.find("assistant"), std::string::npos);
  EXPECT_NE(rest.find("\"y\""), std::string::npos);
}

TEST_F(Generate, Http10StreamsEndWithTheConnection) {
  serve();
  Client c = client();
  const std::string body = R"({"prompt":"a","stream":true})";
  c.send("POST /v1/completions HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  backend_.end(backend_.submitted(), "stop", "text");
  const Response response = c.read();
  EXPECT_EQ(response.field("transfer-encoding"), "");
  EXPECT_EQ(response.field("connection"), "close");
  EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
  EXPECT_TRUE(response.whole);
}

struct Bad {
  const char* path;
  std::string body;
  int status;
  const char* says;
};

TEST_F(Generate, WhatTheModelCannotDoIsRefused) {
  serve();
  Client c = client();
  const std::vector<Bad> cases = {
      {"/v1/completions", "", 400, "empty"},
      {"/v1/completions", "{", 400, "body"},
      {"/v1/completions", "{}", 400, "prompt"},
      {"/v1/completions", R"({"prompt":""})", 400, "prompt"},
      {"/v1/completions", R"({"prompt":[]})", 400, "prompt"},
      {"/v1/completions", R"({"prompt":[256]})", 400, "out of vocabulary"},
      {"/v1/completions", R"({"prompt":[2147483647]})", 400, "out of vocabulary"},
      {"/v1/completions", R"({"prompt":"a","model":"other"})", 404, "does not exist"},
      {"/v1/completions", R"({"prompt":"a","max_tokens":64})", 400, "maximum context length is 64"},
      {"/v1/completions", R"({"prompt":")" + std::string(64, 'a') + R"("})", 400, "maximum context length"},
      {"/v1/completions", R"({"prompt":")" + std::string(4096, 'a') + R"("})", 400, "maximum context length"},
      {"/v1/completions", R"({"prompt":"a","max_tokens":4294967296})", 400, "maximum context length"},
      {"/v1/chat/completions", R"({"messages":[{"role":"user","content":"a"}]})", 400, "no chat template"},
      {"/v1/chat/completions", R"({"messages":[]})", 400, "messages"},
  };
  for (const Bad& bad : cases) {
    const Response response = c.post(bad.path, bad.body);
    EXPECT_EQ(response.status, bad.status) << bad.body;
    const json error = json::parse(response.body)["error"];
    EXPECT_NE(error["message"].get<std::string>().find(bad.says), std::string::npos) << bad.body << response.body;
  }
  EXPECT_EQ(backend_.open(), 0u);
  c.send_post("/v1/completions", R"({"prompt":"a","max_tokens":63})");  // the most there is
  EXPECT_EQ(backend_.max_tokens(), 63);
}

TEST_F(Generate, FullAndDraining) {
  serve();
  Client c = client();
  backend_.submission = host::Submission::full;
  const Response full = c.post("/v1/completions", R"({"prompt":"a","stream":true})");
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(full.field("retry-after"), "1");
  EXPECT_EQ(json::parse(full.body)["error"]["type"], "rate_limit_error");
  backend_.submission = host::Submission::draining;
  const Response draining = c.post("/v1/completions", R"({"prompt":"a"})");
  EXPECT_EQ(draining.status, 503);
  EXPECT_EQ(draining.field("connection"), "close");
  EXPECT_TRUE(c.closes());
}

TEST_F(Generate, EndsThatAreNone) {
  serve();
  Client c = client();
  std::size_t n = 0;
  for (const std::string stream : {"false", "true"}) {
    const std::string body = R"({"prompt":"a","stream":)" + stream + "}";
    c.send_post("/v1/completions", body);
    backend_.end(backend_.submitted(n++), "rejected", "", "queue_time");
    EXPECT_EQ(c.read().status, 429);
    c.send_post("/v1/completions", body);
    backend_.end(backend_.submitted(n++), "rejected", "", "kv_budget");
    EXPECT_EQ(c.read().status, 400);
    c.send_post("/v1/completions", body);
    backend_.end(backend_.submitted(n++), "timeout");
    EXPECT_EQ(c.read().status, 503);
  }
  // Once tokens are out, the stream itself has to say it.
  c.send_post("/v1/completions", R"({"prompt":"a","stream":true})");
  const std::string id = backend_.submitted(n);
  backend_.say(id, "text");
  c.until("text");
  backend_.end(id, "timeout");
  const std::string rest = c.until("[DONE]");
  EXPECT_NE(rest.find("\"error\""), std::string::npos);
}

}  // namespace
}  // namespace afore::http
