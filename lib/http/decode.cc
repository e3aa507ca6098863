#include "http/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "util/error.h"

namespace afore::http {
namespace {

namespace openai = wire::openai;

// A refusal on its way to decode().
struct Refused {
  Answer answer;
};
[[noreturn]] void refuse(std::string_view message, std::string_view param, std::string_view code = {},
                         int status = 400) {
  throw Refused{error_answer(status, message, code, param)};
}

void check_model(const std::string& named, const ModelCard& card) {
  if (named.empty() || named == card.id) return;
  refuse(fmt::format("The model `{}` does not exist.", named), "model", "model_not_found", 404);
}

void check_ids(const std::vector<int>& ids, const nn::Tokenizer& tokenizer, std::string_view param) {
  const auto beyond = std::find_if(ids.begin(), ids.end(), [&](int id) { return id >= tokenizer.size(); });
  if (beyond == ids.end()) return;
  refuse(fmt::format("Token id {} is out of vocabulary, which has {} ids.", *beyond, tokenizer.size()), param);
}

std::string render(const openai::Messages& messages, bool add_generation_prompt, const Backend& backend) {
  if (backend.chat_template() == nullptr) refuse("This model has no chat template.", "messages");
  try {
    return backend.chat_template()->render(messages, add_generation_prompt);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    refuse(error.what(), "messages");
  }
}

// What was asked for, or all that is left of the context.
std::int64_t allowed_tokens(const std::optional<std::int64_t>& asked, std::size_t prompt_tokens, const ModelCard& card,
                            std::string_view param) {
  const auto prompt = static_cast<std::int64_t>(prompt_tokens);
  if (prompt_tokens == 0) refuse("The prompt has no tokens.", param);
  const std::int64_t tokens = asked.value_or(std::max<std::int64_t>(1, card.max_model_len - prompt));
  if (tokens <= card.max_model_len - prompt) return tokens;
  refuse(fmt::format("This model's maximum context length is {} tokens. However, you requested {} tokens in the "
                     "completion and your prompt has {}. Please reduce the length of the prompt or completion.",
                     card.max_model_len, tokens, prompt),
         param, "context_length_exceeded");
}

GenerationRequest generation(openai::Kind kind, openai::Delivery delivery, openai::Sampling sampling,
                             std::vector<int> ids, const ModelCard& card, std::uint64_t seed) {
  const std::string_view param = kind == openai::Kind::chat ? "messages" : "prompt";
  GenerationRequest request{.kind = kind, .delivery = delivery};
  request.max_tokens = allowed_tokens(sampling.max_tokens, ids.size(), card, param);
  request.prompt = {.token_ids = std::move(ids),
                    .temperature = sampling.temperature,
                    .top_p = sampling.top_p,
                    .seed = sampling.seed ? static_cast<std::uint64_t>(*sampling.seed) : seed,
                    .ignore_eos = sampling.ignore_eos,
                    .stop = std::move(sampling.stop)};
  return request;
}

GenerationRequest completion(std::string_view body, const Backend& backend, std::uint64_t seed) {
  openai::CompletionRequest request = openai::parse_completion(body);
  check_model(request.model, backend.model());
  std::vector<int> ids;
  if (auto* given = std::get_if<openai::TokenIds>(&request.prompt)) {
    check_ids(*given, backend.tokenizer(), "prompt");
    ids = std::move(*given);
  } else {
    ids = backend.tokenizer().encode(std::get<std::string>(request.prompt));
  }
  return generation(openai::Kind::completion, request.delivery, std::move(request.sampling), std::move(ids),
                    backend.model(), seed);
}

GenerationRequest chat(std::string_view body, const Backend& backend, std::uint64_t seed) {
  openai::ChatRequest request = openai::parse_chat(body);
  check_model(request.model, backend.model());
  std::vector<int> ids = backend.tokenizer().encode(render(request.messages, true, backend));
  return generation(openai::Kind::chat, request.delivery, std::move(request.sampling), std::move(ids), backend.model(),
                    seed);
}

Answer tokenized(std::string_view body, const Backend& backend) {
  const openai::TokenizeRequest request = openai::parse_tokenize(body);
  check_model(request.model, backend.model());
  const auto* messages = std::get_if<openai::Messages>(&request.text);
  const std::string text =
      messages ? render(*messages, request.add_generation_prompt, backend) : std::get<std::string>(request.text);
  Answer answer;
  openai::append_tokens(answer.body, backend.tokenizer().encode(text), backend.model().max_model_len);
  return answer;
}

Answer detokenized(std::string_view body, const Backend& backend) {
  const openai::DetokenizeRequest request = openai::parse_detokenize(body);
  check_model(request.model, backend.model());
  check_ids(request.tokens, backend.tokenizer(), "tokens");
  Answer answer;
  openai::append_text(answer.body, backend.tokenizer().decode(request.tokens));
  return answer;
}

Answer with_policy(std::string_view body, Backend& backend) {
  const std::string policy = openai::parse_policy(body);
  try {
    backend.set_policy(policy);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    refuse(error.what(), "policy");
  }
  return {.body = "{}"};
}

Answer with_freeze(std::string_view body, Backend& backend) {
  backend.set_frozen(openai::parse_freeze(body));
  return {.body = "{}"};
}

}  // namespace

Decoded decode(Route route, std::string_view body, Backend& backend, std::uint64_t seed) {
  try {
    switch (route) {
      case Route::completions: return completion(body, backend, seed);
      case Route::chat_completions: return chat(body, backend, seed);
      case Route::tokenize: return tokenized(body, backend);
      case Route::detokenize: return detokenized(body, backend);
      case Route::freeze: return with_freeze(body, backend);
      case Route::policy: return with_policy(body, backend);
      default: break;
    }
  } catch (const openai::BadRequest& bad) {
    return error_answer(400, bad.what(), {}, bad.param());
  } catch (Refused& refused) {
    return std::move(refused.answer);
  }
  AFORE_CHECK(false, "the route has a body");
}

}  // namespace afore::http
