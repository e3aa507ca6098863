#pragma once
// Bodies of requests to an OpenAI-compatible endpoint, with what the clients of vLLM and SGLang add to them.
//
// null counts as absent. Keys that are not known are ignored, and so is repetition_penalty, which benchmark clients
// always send. Keys that would change the answer in a way nothing here can (n, logprobs, penalties, top_k, tools, ...)
// are refused, unless their value changes nothing. Integers are written as integers: 16.0 is not one.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nn/chat_template.h"
#include "util/error.h"

namespace afore::wire::openai {

// Error{data} whose message is for the client: "body: /stop/1: expected a string, found an integer".
class BadRequest : public Error {
 public:
  BadRequest(const std::string& message, std::string_view param) : Error(ErrorKind::data, message), param_(param) {}
  const std::string& param() const { return param_; }  // the body's key that is wrong, empty where it is no single one

 private:
  std::string param_;
};

struct Sampling {
  std::optional<std::int64_t> max_tokens;  // at least 1
  double temperature = 1;                  // in [0, 2]
  double top_p = 1;                        // in (0, 1]
  std::optional<std::int64_t> seed;
  std::vector<std::string> stop;  // none is empty
  bool ignore_eos = false;
};

struct Delivery {
  bool stream = false;
  bool include_usage = false;  // a last event with the tokens' counts; only of streams
};

using TokenIds = std::vector<int>;  // in [0, 2^31); whether the vocabulary has them is not known here
using PromptInput = std::variant<std::string, TokenIds>;
using Messages = std::vector<nn::ChatMessage>;

struct CompletionRequest {
  std::string model;   // empty: not named
  PromptInput prompt;  // not empty
  Sampling sampling;   // always with max_tokens: 16 unless it says
  Delivery delivery;
};

struct ChatRequest {
  std::string model;
  Messages messages;  // not empty; roles as given: system, developer, user, assistant, tool
  Sampling sampling;  // without max_tokens: what is left of the context
  Delivery delivery;
};

struct TokenizeRequest {
  std::string model;
  std::variant<std::string, Messages> text;  // the string may be empty
  bool add_generation_prompt = true;         // of messages
};

struct DetokenizeRequest {
  std::string model;
  TokenIds tokens;  // may be empty
};

// All throw BadRequest.
CompletionRequest parse_completion(std::string_view body);
ChatRequest parse_chat(std::string_view body);
TokenizeRequest parse_tokenize(std::string_view body);
DetokenizeRequest parse_detokenize(std::string_view body);
bool parse_freeze(std::string_view body);         // {"frozen":true}
std::string parse_policy(std::string_view body);  // {"policy":"NAME"}, not empty

}  // namespace afore::wire::openai
