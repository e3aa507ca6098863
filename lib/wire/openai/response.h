#pragma once
// What an OpenAI-compatible endpoint answers, appended to a string. Whole answers and events of a stream are made of
// the same few values; which form they take, the kind of the answer says.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace afore::wire::openai {

enum class Kind { completion, chat };

std::string_view id_prefix(Kind kind);  // "cmpl-", "chatcmpl-"

// What all parts of one answer repeat.
struct Answer {
  Kind kind = Kind::completion;
  std::string_view id;     // with its prefix
  std::string_view model;  // as the client names it
  std::int64_t created_s = 0;
};

struct Usage {
  std::int64_t prompt_tokens = 0, completion_tokens = 0;
};

// `finish_reason`: "stop" or "length".
void append_answer(std::string& out, const Answer& answer, std::string_view text, std::string_view finish_reason,
                   const Usage& usage);

// Server-sent events: whole, with the blank line behind them. The first of a chat says who speaks; clients take it for
// the first token, so it had better hold one. finish_reason is empty in all but the last.
inline constexpr std::string_view kEventBegin = "data: ", kEventEnd = "\n\n", kDoneEvent = "data: [DONE]\n\n";
void append_event(std::string& out, const Answer& answer, bool first, std::string_view text,
                  std::string_view finish_reason);
void append_usage_event(std::string& out, const Answer& answer, const Usage& usage);

enum class Fault { invalid_request, authentication, not_found, rate_limit, server, unavailable };

// `param` and `code`: empty = null.
void append_error(std::string& out, Fault fault, std::string_view message, std::string_view param,
                  std::string_view code);

struct Model {
  std::string_view id;
  std::int64_t created_s = 0, max_model_len = 0;
};

void append_model(std::string& out, const Model& model);
void append_model_list(std::string& out, const Model& model);  // of the one there is

void append_tokens(std::string& out, std::span<const int> ids, std::int64_t max_model_len);
void append_text(std::string& out, std::string_view text);  // of /detokenize

}  // namespace afore::wire::openai
