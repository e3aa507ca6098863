#include "wire/openai/request.h"

#include <limits>
#include <optional>
#include <utility>

#include "wire/openai/body.h"
#include "wire/openai/messages.h"
#include "wire/openai/options.h"

namespace afore::wire::openai {
namespace {

constexpr std::int64_t kCompletionTokens = 16;  // OpenAI's default, of completions only

TokenIds read_token_ids(JsonValue value) {
  value.expect(JsonType::array);
  TokenIds ids;
  ids.reserve(value.size());
  for (const JsonValue id : value)
    ids.push_back(static_cast<int>(id.integer(0, std::numeric_limits<int>::max(), "token id")));
  return ids;
}

PromptInput read_one_prompt(JsonValue value) {
  if (value.type() == JsonType::string) {
    if (value.string().empty()) value.fail("the prompt is empty");
    return std::string(value.string());
  }
  if (value.type() != JsonType::array) value.fail("expected a string or a list of token ids");
  if (value.size() == 0) value.fail("the prompt is empty");
  return read_token_ids(value);
}

// A string, token ids, or a list of one of these: of many prompts, when there is only one.
PromptInput read_prompt(JsonValue value) {
  if (value.type() != JsonType::array || value.size() == 0) return read_one_prompt(value);
  const JsonValue first = *value.begin();
  if (first.type() != JsonType::string && first.type() != JsonType::array) return read_one_prompt(value);
  if (value.size() > 1)
    value.fail(std::to_string(value.size()) + " prompts, a request has one: send the others as requests of their own");
  return read_one_prompt(first);
}

}  // namespace

CompletionRequest parse_completion(std::string_view body) {
  CompletionRequest request;
  request.sampling.max_tokens = kCompletionTokens;
  OptionsReader options(request.sampling, request.delivery);
  std::optional<PromptInput> prompt;
  read_members(body, [&](JsonValue member) {
    if (member.key() == "model") request.model = member.string();
    else if (member.key() == "prompt") prompt = read_prompt(member);
    else options.read(member);
  });
  if (!prompt) fail_at("prompt", "the key is missing");
  request.prompt = std::move(*prompt);
  options.finish();
  return request;
}

ChatRequest parse_chat(std::string_view body) {
  ChatRequest request;
  OptionsReader options(request.sampling, request.delivery);
  read_members(body, [&](JsonValue member) {
    if (member.key() == "model") request.model = member.string();
    else if (member.key() == "messages") request.messages = read_messages(member);
    else options.read(member);
  });
  if (request.messages.empty()) fail_at("messages", "the key is missing");
  options.finish();
  return request;
}

TokenizeRequest parse_tokenize(std::string_view body) {
  TokenizeRequest request;
  std::optional<std::string> prompt;
  std::optional<Messages> messages;
  read_members(body, [&](JsonValue member) {
    if (member.key() == "model") request.model = member.string();
    else if (member.key() == "prompt") prompt = member.string();
    else if (member.key() == "messages") messages = read_messages(member);
    else if (member.key() == "add_generation_prompt") request.add_generation_prompt = member.boolean();
  });
  if (prompt && messages) fail_at("prompt", "stands beside messages: which of them?");
  if (prompt) request.text = std::move(*prompt);
  else if (messages) request.text = std::move(*messages);
  else fail_at("prompt", "the key is missing");
  return request;
}

DetokenizeRequest parse_detokenize(std::string_view body) {
  DetokenizeRequest request;
  std::optional<TokenIds> tokens;
  read_members(body, [&](JsonValue member) {
    if (member.key() == "model") request.model = member.string();
    else if (member.key() == "tokens") tokens = read_token_ids(member);
  });
  if (!tokens) fail_at("tokens", "the key is missing");
  request.tokens = std::move(*tokens);
  return request;
}

bool parse_freeze(std::string_view body) {
  std::optional<bool> frozen;
  read_members(body, [&](JsonValue member) {
    if (member.key() == "frozen") frozen = member.boolean();
  });
  if (!frozen) fail_at("frozen", "the key is missing");
  return *frozen;
}

std::string parse_policy(std::string_view body) {
  std::string policy;
  read_members(body, [&](JsonValue member) {
    if (member.key() == "policy") policy = member.string();
  });
  if (policy.empty()) fail_at("policy", "a policy's name is missing");
  return policy;
}

}  // namespace afore::wire::openai
