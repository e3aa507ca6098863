#include "wire/openai/response.h"

#include <gtest/gtest.h>

namespace afore::wire::openai {
namespace {

const Answer kCompletion{Kind::completion, "cmpl-1", "tiny", 1700000000};
const Answer kChat{Kind::chat, "chatcmpl-1", "tiny", 1700000000};
const std::string kCompletionHead =
    R"({"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"tiny","choices":[)";
const std::string kChunkHead =
    R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"tiny","choices":[)";

// What `append` adds behind text that stands already.
template <class Append>
std::string added(Append&& append) {
  std::string out = "before";
  append(out);
  EXPECT_TRUE(out.starts_with("before"));
  return out.substr(6);
}

std::string event(const std::string& json) { return "data: " + json + "\n\n"; }

TEST(OpenAiResponse, WholeAnswers) {
  EXPECT_EQ(added([](std::string& out) {
              append_answer(out, kCompletion, "a\n\"b\"", "stop", {3, 2});
            }),
            kCompletionHead + R"({"index":0,"text":"a\n\"b\"","logprobs":null,"finish_reason":"stop"}],)"
                              R"("usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}})");
  EXPECT_EQ(added([](std::string& out) {
              append_answer(out, kChat, "", "length", {3, 0});
            }),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"tiny","choices":[)"
            R"({"index":0,"message":{"role":"assistant","content":""},"logprobs":null,"finish_reason":"length"}],)"
            R"("usage":{"prompt_tokens":3,"completion_tokens":0,"total_tokens":3}})");
}

TEST(OpenAiResponse, Events) {
  EXPECT_EQ(added([](std::string& out) { append_event(out, kCompletion, true, "a", ""); }),
            event(kCompletionHead + R"({"index":0,"text":"a","logprobs":null,"finish_reason":null}]})"));
  EXPECT_EQ(added([](std::string& out) { append_event(out, kCompletion, false, "", "stop"); }),
            event(kCompletionHead + R"({"index":0,"text":"","logprobs":null,"finish_reason":"stop"}]})"));
  EXPECT_EQ(added([](std::string& out) { append_event(out, kChat, true, "a", ""); }),
            event(kChunkHead +
                  R"({"index":0,"delta":{"role":"assistant","content":"a"},"logprobs":null,"finish_reason":null}]})"));
  EXPECT_EQ(added([](std::string& out) { append_event(out, kChat, false, "b", "length"); }),
            event(kChunkHead + R"({"index":0,"delta":{"content":"b"},"logprobs":null,"finish_reason":"length"}]})"));
}

TEST(OpenAiResponse, AnEventIsOneLine) {
  const std::string out = added([](std::string& o) { append_event(o, kCompletion, false, "\r\n\n\xff", "stop"); });
  EXPECT_EQ(out.find('\n'), out.size() - 2);
  EXPECT_EQ(out.find('\r'), std::string::npos);
  EXPECT_NE(out.find("\\r\\n\\n\xEF\xBF\xBD"), std::string::npos);
}

TEST(OpenAiResponse, EventsOfUsageHaveNoChoice) {
  const std::string usage = R"(],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}})";
  EXPECT_EQ(added([](std::string& out) {
              append_usage_event(out, kCompletion, {3, 2});
            }),
            event(kCompletionHead + usage));
  EXPECT_EQ(added([](std::string& out) { append_usage_event(out, kChat, {3, 2}); }), event(kChunkHead + usage));
  EXPECT_EQ(kDoneEvent, "data: [DONE]\n\n");
}

TEST(OpenAiResponse, Errors) {
  EXPECT_EQ(added([](std::string& out) { append_error(out, Fault::invalid_request, "no \"x\"", "stop", "c"); }),
            R"({"error":{"message":"no \"x\"","type":"invalid_request_error","param":"stop","code":"c"}})");
  const std::pair<Fault, const char*> types[] = {
      {Fault::authentication, "authentication_error"}, {Fault::not_found, "not_found_error"},
      {Fault::rate_limit, "rate_limit_error"},         {Fault::server, "server_error"},
      {Fault::unavailable, "service_unavailable"},
  };
  for (const auto& [fault, type] : types)
    EXPECT_EQ(added([fault = fault](std::string& out) { append_error(out, fault, "m", "", ""); }),
              R"({"error":{"message":"m","type":")" + std::string(type) + R"(","param":null,"code":null}})");
}

TEST(OpenAiResponse, Models) {
  const std::string model =
      R"({"id":"tiny","object":"model","created":7,"owned_by":"afore","root":"tiny","max_model_len":64})";
  EXPECT_EQ(added([](std::string& out) { append_model(out, {"tiny", 7, 64}); }), model);
  EXPECT_EQ(added([](std::string& out) {
              append_model_list(out, {"tiny", 7, 64});
            }),
            R"({"object":"list","data":[)" + model + "]}");
}

TEST(OpenAiResponse, TokensAndText) {
  const int ids[] = {0, 2147483647};
  EXPECT_EQ(added([&](std::string& out) { append_tokens(out, ids, 64); }),
            R"({"count":2,"max_model_len":64,"tokens":[0,2147483647]})");
  EXPECT_EQ(added([](std::string& out) { append_tokens(out, {}, 64); }),
            R"({"count":0,"max_model_len":64,"tokens":[]})");
  EXPECT_EQ(added([](std::string& out) { append_text(out, "a\n"); }), R"({"prompt":"a\n"})");
}

TEST(OpenAiResponse, IdsSayTheirKind) {
  EXPECT_EQ(id_prefix(Kind::completion), "cmpl-");
  EXPECT_EQ(id_prefix(Kind::chat), "chatcmpl-");
}

}  // namespace
}  // namespace afore::wire::openai
