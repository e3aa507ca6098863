// Bodies of requests to the HTTP endpoint; the first byte chooses whose. What is accepted is in its ranges, reads the
// same when it is written plainly, and comes back from an answer.

#include "fuzz.h"
#include "wire/json_tree.h"
#include "wire/json_writer.h"
#include "wire/openai/request.h"
#include "wire/openai/response.h"

namespace afore {
namespace {

using namespace wire::openai;

void check(const Sampling& sampling) {
  FUZZ_CHECK(!sampling.max_tokens || *sampling.max_tokens >= 1);
  FUZZ_CHECK(sampling.temperature >= 0 && sampling.temperature <= 2);
  FUZZ_CHECK(sampling.top_p > 0 && sampling.top_p <= 1);
  FUZZ_CHECK(sampling.stop.size() <= 16);
  for (const std::string& stop : sampling.stop) FUZZ_CHECK(!stop.empty() && stop.size() <= 256);
}

void check(const TokenIds& ids) {
  for (const int id : ids) FUZZ_CHECK(id >= 0);
}

// The text of one event's only choice, of a completion.
std::string told(std::string_view text) {
  std::string event;
  append_event(event, {Kind::completion, "cmpl-1", text, 7}, true, text, "");
  FUZZ_CHECK(event.starts_with(kEventBegin) && event.find('\n') == event.size() - kEventEnd.size());
  wire::JsonTree tree;
  wire::ObjectReader answer(tree.parse(std::string_view(event).substr(kEventBegin.size()), "event"));
  FUZZ_CHECK(answer.required("model").string() == text);
  return std::string(wire::ObjectReader(*answer.required("choices").begin()).required("text").string());
}

void write(wire::JsonWriter& json, const Sampling& sampling, const Delivery& delivery) {
  if (sampling.max_tokens) json.integer("max_tokens", *sampling.max_tokens);
  json.real("temperature", sampling.temperature);
  json.real("top_p", sampling.top_p);
  if (sampling.seed) {
    json.key("seed");
    json.out() += std::to_string(*sampling.seed);
  }
  json.strings("stop", sampling.stop);
  json.boolean("ignore_eos", sampling.ignore_eos);
  json.boolean("stream", delivery.stream);
  json.key("stream_options");
  json.open('{');
  json.boolean("include_usage", delivery.include_usage);
  json.close('}');
}

void check_same(const Sampling& a, const Sampling& b) {
  FUZZ_CHECK(a.max_tokens == b.max_tokens && a.temperature == b.temperature && a.top_p == b.top_p);
  FUZZ_CHECK(a.seed == b.seed && a.stop == b.stop && a.ignore_eos == b.ignore_eos);
}

void check_same(const Delivery& a, const Delivery& b) {
  FUZZ_CHECK(a.stream == b.stream && a.include_usage == b.include_usage);
}

void completion(std::string_view body) {
  const CompletionRequest request = parse_completion(body);
  FUZZ_CHECK(request.sampling.max_tokens);
  check(request.sampling);
  std::string plain;
  wire::JsonWriter json(plain);
  json.open('{');
  json.string("model", request.model);
  if (const auto* ids = std::get_if<TokenIds>(&request.prompt)) {
    FUZZ_CHECK(!ids->empty());
    check(*ids);
    json.integers("prompt", *ids);
  } else {
    const std::string& text = std::get<std::string>(request.prompt);
    FUZZ_CHECK(!text.empty() && told(text) == text);
    json.string("prompt", text);
  }
  write(json, request.sampling, request.delivery);
  json.close('}');
  const CompletionRequest again = parse_completion(plain);
  FUZZ_CHECK(again.model == request.model && again.prompt == request.prompt);
  check_same(again.sampling, request.sampling);
  check_same(again.delivery, request.delivery);
}

void check(const Messages& messages) {
  FUZZ_CHECK(!messages.empty());
  for (const nn::ChatMessage& message : messages) FUZZ_CHECK(!message.role.empty());
}

void chat(std::string_view body) {
  const ChatRequest request = parse_chat(body);
  check(request.messages);
  check(request.sampling);
  std::string plain;
  wire::JsonWriter json(plain);
  json.open('{');
  json.key("messages");
  json.open('[');
  for (const nn::ChatMessage& message : request.messages) {
    json.separate();
    json.open('{');
    json.string("role", message.role);
    json.string("content", message.content);
    json.close('}');
  }
  json.close(']');
  write(json, request.sampling, request.delivery);
  json.close('}');
  const ChatRequest again = parse_chat(plain);
  FUZZ_CHECK(again.messages.size() == request.messages.size());
  for (std::size_t i = 0; i < again.messages.size(); ++i)
    FUZZ_CHECK(again.messages[i].role == request.messages[i].role &&
               again.messages[i].content == request.messages[i].content);
  check_same(again.sampling, request.sampling);
  check_same(again.delivery, request.delivery);
}

void tokens(std::string_view body) {
  const DetokenizeRequest request = parse_detokenize(body);
  check(request.tokens);
  std::string answer;
  append_tokens(answer, request.tokens, 64);
  FUZZ_CHECK(parse_detokenize(answer).tokens == request.tokens);
}

void text(std::string_view body) {
  const TokenizeRequest request = parse_tokenize(body);
  if (const auto* messages = std::get_if<Messages>(&request.text)) {
    check(*messages);
    return;
  }
  const std::string& prompt = std::get<std::string>(request.text);
  std::string answer;
  append_text(answer, prompt);
  FUZZ_CHECK(std::get<std::string>(parse_tokenize(answer).text) == prompt);
}

void control(std::string_view body) {
  if (body.find("frozen") != body.npos) parse_freeze(body);
  else FUZZ_CHECK(!parse_policy(body).empty());
}

}  // namespace
}  // namespace afore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  if (size == 0) return 0;
  const std::string_view body = fuzz::text_of(data + 1, size - 1);
  std::string refusal;
  const bool refused = fuzz::refuses(
      [&] {
        switch (data[0] % 8) {
          case 0: return tokens(body);
          case 1: return text(body);
          case 2: return control(body);
          case 3:
          case 4:
          case 5: return chat(body);
          default: return completion(body);
        }
      },
      &refusal);
  FUZZ_CHECK(!refused || refusal.starts_with("body: "));
  return 0;
}
