#include "wire/openai/request.h"

#include <gtest/gtest.h>

#include <limits>

namespace afore::wire::openai {
namespace {

struct Refused {
  std::string message, param;
};

template <class Parse>
Refused refused(Parse&& parse, std::string_view body) {
  try {
    parse(body);
  } catch (const BadRequest& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return {error.what(), error.param()};
  }
  return {"no error", ""};
}

std::string completion_with(std::string_view members) { return R"({"prompt":"Hi",)" + std::string(members) + "}"; }

TEST(OpenAiCompletion, EveryKey) {
  const CompletionRequest request = parse_completion(
      R"({"model":"m","prompt":"Hi\n","max_tokens":3,"temperature":0.5,"top_p":0.9,"seed":-7,"stop":["x","yz"],)"
      R"("stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"ignore_eos":true})");
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(std::get<std::string>(request.prompt), "Hi\n");
  EXPECT_EQ(request.sampling.max_tokens, 3);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.9);
  EXPECT_EQ(request.sampling.seed, -7);
  EXPECT_EQ(request.sampling.stop, (std::vector<std::string>{"x", "yz"}));
  EXPECT_TRUE(request.sampling.ignore_eos);
  EXPECT_TRUE(request.delivery.stream);
  EXPECT_TRUE(request.delivery.include_usage);
}

TEST(OpenAiCompletion, DefaultsAndNulls) {
  for (const char* body :
       {R"({"prompt":"Hi"})",
        R"({"prompt":"Hi","model":null,"max_tokens":null,"max_completion_tokens":null,"min_tokens":null,)"
        R"("temperature":null,"top_p":null,"seed":null,"stop":null,"stream":null,"stream_options":null,)"
        R"("ignore_eos":null,"n":null,"logprobs":null,"tools":null})",
        R"({"prompt":"Hi","stop":[],"stream_options":{"include_usage":null}})",
        R"({"prompt":"Hi","stream_options":{}})"}) {
    const CompletionRequest request = parse_completion(body);
    EXPECT_EQ(request.model, "") << body;
    EXPECT_EQ(request.sampling.max_tokens, 16);
    EXPECT_EQ(request.sampling.temperature, 1);
    EXPECT_EQ(request.sampling.top_p, 1);
    EXPECT_FALSE(request.sampling.seed);
    EXPECT_TRUE(request.sampling.stop.empty());
    EXPECT_FALSE(request.sampling.ignore_eos || request.delivery.stream || request.delivery.include_usage);
  }
}

TEST(OpenAiCompletion, FormsOfThePrompt) {
  const auto prompt = [](const std::string& text) { return parse_completion(R"({"prompt":)" + text + "}").prompt; };
  EXPECT_EQ(std::get<std::string>(prompt(R"("a")")), "a");
  EXPECT_EQ(std::get<std::string>(prompt(R"(["a"])")), "a");
  EXPECT_EQ(std::get<TokenIds>(prompt("[0,2147483647]")), (TokenIds{0, 2147483647}));
  EXPECT_EQ(std::get<TokenIds>(prompt("[[5]]")), TokenIds{5});

  const std::pair<const char*, const char*> wrong[] = {
      {R"("")", "body: /prompt: the prompt is empty"},
      {"[]", "body: /prompt: the prompt is empty"},
      {R"([""])", "body: /prompt/0: the prompt is empty"},
      {"[[]]", "body: /prompt/0: the prompt is empty"},
      {R"(["a","b"])", "body: /prompt: 2 prompts, a request has one: send the others as requests of their own"},
      {"[[1],[2],[3]]", "body: /prompt: 3 prompts, a request has one: send the others as requests of their own"},
      {"7", "body: /prompt: expected a string or a list of token ids"},
      {R"([1,"a"])", "body: /prompt/1: expected an integer, found a string"},
      {"[1,2.0]", "body: /prompt/1: expected an integer, found 2.0"},
      {"[-1]", "body: /prompt/0: token id is negative"},
      {"[2147483648]", "body: /prompt/0: token id 2147483648 is above 2147483647"},
      {"[[[1]]]", "body: /prompt/0/0: expected an integer, found an array"},
      {"null", "body: /prompt: the key is missing"},
  };
  for (const auto& [text, message] : wrong) {
    const Refused error = refused(parse_completion, R"({"prompt":)" + std::string(text) + "}");
    EXPECT_EQ(error.message, message) << text;
    EXPECT_EQ(error.param, "prompt") << text;
  }
  EXPECT_EQ(refused(parse_completion, R"({"model":"m"})").message, "body: /prompt: the key is missing");
}

TEST(OpenAiCompletion, TakesWhatChangesNothing) {
  for (const char* members :
       {R"("n":1,"best_of":1,"echo":false,"suffix":"","use_beam_search":false)", R"("logprobs":0)",
        R"("logprobs":false)", R"("top_logprobs":0,"prompt_logprobs":0)",
        R"("presence_penalty":0,"frequency_penalty":0.0)", R"("top_k":-1)", R"("top_k":0,"min_p":0)",
        R"("logit_bias":{},"tools":[],"functions":[])", R"("response_format":{"type":"text"})",
        R"("repetition_penalty":1.3)", R"("min_tokens":0)",
        R"("user":"u","metadata":{"a":[1]},"store":true,"never_heard_of":18446744073709551615e0)",
        R"("ignore_eos":true,"max_tokens":8,"min_tokens":8)"})
    EXPECT_NO_THROW(parse_completion(completion_with(members))) << members;
}

TEST(OpenAiCompletion, RefusesWithPlaceAndFact) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"("model":3)", "/model: expected a string, found an integer"},
      {R"("max_tokens":16.0)", "/max_tokens: expected an integer, found 16.0"},
      {R"("max_tokens":"16")", "/max_tokens: expected an integer, found a string"},
      {R"("max_tokens":0)", "/max_tokens: max_tokens 0 is below 1"},
      {R"("max_tokens":4294967297)", "/max_tokens: max_tokens 4294967297 is above 4294967296"},
      {R"("max_completion_tokens":-1)", "/max_completion_tokens: max_completion_tokens -1 is below 1"},
      {R"("min_tokens":2)", "/min_tokens: not supported, except beside ignore_eos without stop"},
      {R"("min_tokens":2,"ignore_eos":true,"stop":"x")",
       "/min_tokens: not supported, except beside ignore_eos without stop"},
      {R"("min_tokens":17,"ignore_eos":true)", "/min_tokens: more than max_tokens"},
      {R"("min_tokens":-1)", "/min_tokens: min_tokens is negative"},
      {R"("temperature":-0.1)", "/temperature: the temperature is not in [0, 2]"},
      {R"("temperature":2.1)", "/temperature: the temperature is not in [0, 2]"},
      {R"("temperature":"1")", "/temperature: expected a number, found a string"},
      {R"("top_p":0)", "/top_p: top_p is not in (0, 1]"},
      {R"("top_p":1.1)", "/top_p: top_p is not in (0, 1]"},
      {R"("seed":1.5)", "/seed: expected an integer, found 1.5"},
      {R"("stop":"")", "/stop: a stop text has 1 to 256 bytes"},
      {R"("stop":["a",""])", "/stop/1: a stop text has 1 to 256 bytes"},
      {R"("stop":["a",7])", "/stop/1: expected a string, found an integer"},
      {R"("stop":[1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7])", "/stop: more than 16 stop texts"},
      {R"("stop":{})", "/stop: expected an array, found an object"},
      {R"("stream":1)", "/stream: expected a boolean, found an integer"},
      {R"("stream_options":true)", "/stream_options: expected an object, found a boolean"},
      {R"("stream_options":{"include_usage":"yes"})",
       "/stream_options/include_usage: expected a boolean, found a string"},
      {R"("ignore_eos":0)", "/ignore_eos: expected a boolean, found an integer"},
      {R"("n":2)", "/n: not supported: a request has one choice, n is 1"},
      {R"("n":1.0)", "/n: not supported: a request has one choice, n is 1"},
      {R"("best_of":3)", "/best_of: not supported: a request has one choice, best_of is 1"},
      {R"("echo":true)", "/echo: not supported: the prompt is not part of the answer, echo is false"},
      {R"("suffix":"x")", "/suffix: not supported: nothing is inserted before a suffix"},
      {R"("logprobs":5)", "/logprobs: not supported: log probabilities are not told"},
      {R"("logprobs":true)", "/logprobs: not supported: log probabilities are not told"},
      {R"("top_logprobs":1)", "/top_logprobs: not supported: log probabilities are not told"},
      {R"("prompt_logprobs":1)", "/prompt_logprobs: not supported: log probabilities are not told"},
      {R"("presence_penalty":0.5)", "/presence_penalty: not supported: the penalty is 0"},
      {R"("frequency_penalty":-1)", "/frequency_penalty: not supported: the penalty is 0"},
      {R"("top_k":40)", "/top_k: not supported: top_k is 0 or -1, which keep all tokens"},
      {R"("min_p":0.1)", "/min_p: not supported: min_p is 0"},
      {R"("logit_bias":{"5":1})", "/logit_bias: not supported: logit_bias is empty"},
      {R"("use_beam_search":true)", "/use_beam_search: not supported: tokens are sampled, there is no beam search"},
      {R"("response_format":{"type":"json_object"})",
       R"(/response_format: not supported: the answer is text, the format is {"type":"text"})"},
      {R"("response_format":{})",
       R"(/response_format: not supported: the answer is text, the format is {"type":"text"})"},
      {R"("tools":[{"type":"function"}])", "/tools: not supported: the model calls no tools"},
      {R"("functions":[{}])", "/functions: not supported: the model calls no functions"},
  };
  for (const auto& [members, message] : wrong) {
    const Refused error = refused(parse_completion, completion_with(members));
    EXPECT_EQ(error.message, "body: " + std::string(message)) << members;
    // The parameter is the first key of the path.
    const std::string path = error.message.substr(std::string("body: /").size());
    EXPECT_EQ(error.param, path.substr(0, path.find_first_of("/:"))) << members;
  }
}

TEST(OpenAiCompletion, BoundsOfStopTexts) {
  EXPECT_NO_THROW(parse_completion(completion_with(R"("stop":")" + std::string(256, 'x') + '"')));
  EXPECT_NE(refused(parse_completion, completion_with(R"("stop":")" + std::string(257, 'x') + '"')).param, "");
}

TEST(OpenAiCompletion, SeedsHave64Bits) {
  const auto seed = [](const std::string& text) {
    return parse_completion(completion_with(R"("seed":)" + text)).sampling.seed;
  };
  EXPECT_EQ(seed("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(seed("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(refused(parse_completion, completion_with(R"("seed":9223372036854775808)")).message,
            "body: /seed: the integer is beyond 64 bits");
}

TEST(OpenAiBody, MustBeOneJsonObject) {
  const std::pair<std::string, const char*> wrong[] = {
      {"", "body: it is empty"},
      {" \n", "body: it is empty"},
      {"[]", "body: expected an object, found an array"},
      {R"({"prompt":"a")", "body: the JSON text ends too early"},
      {R"({"prompt":"a"} x)", "body: more text after the JSON value at byte 16"},
      {R"({"prompt":"a","prompt":"b"})", "body: /prompt: the key stands twice"},
      {R"({"metadata":{"a":1,"a":2}})", "body: /metadata/a: the key stands twice"},
      {"{\"prompt\":\"\xff\"}", "body: /prompt: invalid UTF-8 at byte 12"},
      {R"({"prompt":"\ud800"})", "body: /prompt: a lone surrogate in a \\u escape at byte 18"},
      {R"({"temperature":NaN})", "body: /temperature: NaN is not a JSON number"},
  };
  for (const auto& [body, message] : wrong) {
    const Refused error = refused(parse_completion, body);
    EXPECT_EQ(error.message, message) << body;
    EXPECT_EQ(error.param, "") << body;
  }
  const std::string deep = R"({"x":)" + std::string(64, '[') + std::string(64, ']') + "}";
  EXPECT_NE(refused(parse_chat, deep).message.find("nested deeper than 64 levels"), std::string::npos);
}

TEST(OpenAiChat, EveryKindOfMessage) {
  const ChatRequest request = parse_chat(
      R"({"model":"m","messages":[{"role":"system","content":"s"},{"role":"developer","content":"d","name":"x"},)"
      R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
      R"({"role":"assistant","content":null,"tool_calls":[]},{"role":"assistant"},)"
      R"({"role":"tool","content":"t","tool_call_id":"1"},{"role":"user","content":""}]})");
  const std::pair<const char*, const char*> expected[] = {{"system", "s"},   {"developer", "d"}, {"user", "a\nb"},
                                                          {"assistant", ""}, {"assistant", ""},  {"tool", "t"},
                                                          {"user", ""}};
  ASSERT_EQ(request.messages.size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(request.messages[i].role, expected[i].first);
    EXPECT_EQ(request.messages[i].content, expected[i].second);
  }
  EXPECT_FALSE(request.sampling.max_tokens);
  EXPECT_EQ(request.model, "m");
}

TEST(OpenAiChat, TheNewerNameOfMaxTokensWins) {
  const auto max_tokens = [](const char* members) {
    return parse_chat(R"({"messages":[{"role":"user","content":"a"}],)" + std::string(members) + "}")
        .sampling.max_tokens;
  };
  EXPECT_EQ(max_tokens(R"("max_tokens":5)"), 5);
  EXPECT_EQ(max_tokens(R"("max_completion_tokens":6)"), 6);
  EXPECT_EQ(max_tokens(R"("max_completion_tokens":6,"max_tokens":5)"), 6);
  EXPECT_EQ(max_tokens(R"("max_completion_tokens":null,"max_tokens":5)"), 5);
}

TEST(OpenAiChat, RefusesWithPlaceAndFact) {
  const std::pair<const char*, const char*> wrong[] = {
      {"null", ": the key is missing"},
      {"[]", ": there is no message"},
      {R"("Hi")", ": expected an array, found a string"},
      {R"(["Hi"])", "/0: expected an object, found a string"},
      {R"([{"content":"a"}])", "/0/role: the key is missing"},
      {R"([{"role":"robot","content":"a"}])", R"(/0/role: unknown role "robot")"},
      {R"([{"role":7,"content":"a"}])", "/0/role: expected a string, found an integer"},
      {R"([{"role":"user"}])", "/0/content: the key is missing"},
      {R"([{"role":"user","content":null}])", "/0/content: expected a string or a list of parts"},
      {R"([{"role":"user","content":7}])", "/0/content: expected a string or a list of parts"},
      {R"([{"role":"user","content":[]}])", "/0/content: the list of parts is empty"},
      {R"([{"role":"user","content":["a"]}])", "/0/content/0: expected an object, found a string"},
      {R"([{"role":"user","content":[{"text":"a"}]}])", "/0/content/0/type: the key is missing"},
      {R"([{"role":"user","content":[{"type":"text"}]}])", "/0/content/0/text: the key is missing"},
      {R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}}]}])",
       R"(/0/content/1: "image_url" is not supported: content is text)"},
      {R"([{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]}])",
       "/1/tool_calls: not supported: the model calls no tools"},
  };
  for (const auto& [messages, message] : wrong) {
    const Refused error = refused(parse_chat, R"({"messages":)" + std::string(messages) + "}");
    EXPECT_EQ(error.message, "body: /messages" + std::string(message)) << messages;
    EXPECT_EQ(error.param, "messages") << messages;
  }
  EXPECT_EQ(refused(parse_chat, R"({"messages":[{"role":"user","content":"a"}],"logprobs":true})").param, "logprobs");
}

TEST(OpenAiTokenize, TakesAPromptOrMessages) {
  EXPECT_EQ(std::get<std::string>(parse_tokenize(R"({"prompt":"","add_special_tokens":false})").text), "");
  const TokenizeRequest chat =
      parse_tokenize(R"({"model":"m","messages":[{"role":"user","content":"a"}],"add_generation_prompt":false})");
  EXPECT_EQ(chat.model, "m");
  EXPECT_EQ(std::get<Messages>(chat.text).at(0).content, "a");
  EXPECT_FALSE(chat.add_generation_prompt);
  EXPECT_TRUE(parse_tokenize(R"({"prompt":"a"})").add_generation_prompt);
  EXPECT_EQ(refused(parse_tokenize, "{}").message, "body: /prompt: the key is missing");
  EXPECT_EQ(refused(parse_tokenize, R"({"prompt":["a"]})").message, "body: /prompt: expected a string, found an array");
  EXPECT_EQ(refused(parse_tokenize, R"({"prompt":"a","messages":[{"role":"user","content":"a"}]})").message,
            "body: /prompt: stands beside messages: which of them?");
}

TEST(OpenAiDetokenize, TakesIds) {
  EXPECT_EQ(parse_detokenize(R"({"model":"m","tokens":[3,1]})").tokens, (TokenIds{3, 1}));
  EXPECT_TRUE(parse_detokenize(R"({"tokens":[]})").tokens.empty());
  EXPECT_EQ(refused(parse_detokenize, R"({"tokens":[3,-1]})").message, "body: /tokens/1: token id is negative");
  EXPECT_EQ(refused(parse_detokenize, R"({"tokens":"3"})").message, "body: /tokens: expected an array, found a string");
  EXPECT_EQ(refused(parse_detokenize, "{}").message, "body: /tokens: the key is missing");
}

TEST(OpenAiControl, FreezeAndPolicy) {
  EXPECT_TRUE(parse_freeze(R"({"frozen":true})"));
  EXPECT_FALSE(parse_freeze(R"({"frozen":false})"));
  EXPECT_EQ(refused(parse_freeze, R"({"frozen":1})").message, "body: /frozen: expected a boolean, found an integer");
  EXPECT_EQ(refused(parse_freeze, R"({"frosen":true})").message, "body: /frozen: the key is missing");
  EXPECT_EQ(parse_policy(R"({"policy":"greedy"})"), "greedy");
  EXPECT_EQ(refused(parse_policy, R"({"policy":null})").message, "body: /policy: a policy's name is missing");
  EXPECT_EQ(refused(parse_policy, R"({"policy":""})").message, "body: /policy: a policy's name is missing");
  EXPECT_EQ(refused(parse_policy, R"({"policy":[]})").message, "body: /policy: expected a string, found an array");
}

}  // namespace
}  // namespace afore::wire::openai
