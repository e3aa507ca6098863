#include "wire/openai/response.h"

#include "wire/json_writer.h"

namespace afore::wire::openai {
namespace {

std::string_view object_of(Kind kind, bool whole) {
  if (kind == Kind::completion) return "text_completion";
  return whole ? "chat.completion" : "chat.completion.chunk";
}

void open_answer(JsonWriter& json, const Answer& answer, bool whole) {
  json.open('{');
  json.string("id", answer.id);
  json.string("object", object_of(answer.kind, whole));
  json.integer("created", answer.created_s);
  json.string("model", answer.model);
  json.key("choices");
  json.open('[');
}

void write_usage(JsonWriter& json, const Usage& usage) {
  json.key("usage");
  json.open('{');
  json.integer("prompt_tokens", usage.prompt_tokens);
  json.integer("completion_tokens", usage.completion_tokens);
  json.integer("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  json.close('}');
}

void write_spoken(JsonWriter& json, std::string_view key, bool with_role, std::string_view content) {
  json.key(key);
  json.open('{');
  if (with_role) json.string("role", "assistant");
  json.string("content", content);
  json.close('}');
}

void close_choice(JsonWriter& json, std::string_view finish_reason) {
  json.key("logprobs");
  json.out() += "null";
  json.string_or_null("finish_reason", finish_reason);
  json.close('}');
}

std::string_view type_of(Fault fault) {
  switch (fault) {
    case Fault::invalid_request: return "invalid_request_error";
    case Fault::authentication: return "authentication_error";
    case Fault::not_found: return "not_found_error";
    case Fault::rate_limit: return "rate_limit_error";
    case Fault::server: return "server_error";
    case Fault::unavailable: return "service_unavailable";
  }
  return "";
}

}  // namespace

std::string_view id_prefix(Kind kind) { return kind == Kind::completion ? "cmpl-" : "chatcmpl-"; }

void append_answer(std::string& out, const Answer& answer, std::string_view text, std::string_view finish_reason,
                   const Usage& usage) {
  JsonWriter json(out);
  open_answer(json, answer, true);
  json.open('{');
  json.integer("index", 0);
  if (answer.kind == Kind::completion) json.string("text", text);
  else write_spoken(json, "message", true, text);
  close_choice(json, finish_reason);
  json.close(']');
  write_usage(json, usage);
  json.close('}');
}

void append_event(std::string& out, const Answer& answer, bool first, std::string_view text,
                  std::string_view finish_reason) {
  out += kEventBegin;
  JsonWriter json(out);
  open_answer(json, answer, false);
  json.open('{');
  json.integer("index", 0);
  if (answer.kind == Kind::completion) json.string("text", text);
  else write_spoken(json, "delta", first, text);
  close_choice(json, finish_reason);
  json.close(']');
  json.close('}');
  out += kEventEnd;
}

void append_usage_event(std::string& out, const Answer& answer, const Usage& usage) {
  out += kEventBegin;
  JsonWriter json(out);
  open_answer(json, answer, false);
  json.close(']');
  write_usage(json, usage);
  json.close('}');
  out += kEventEnd;
}

void append_error(std::string& out, Fault fault, std::string_view message, std::string_view param,
                  std::string_view code) {
  JsonWriter json(out);
  json.open('{');
  json.key("error");
  json.open('{');
  json.string("message", message);
  json.string("type", type_of(fault));
  json.string_or_null("param", param);
  json.string_or_null("code", code);
  json.close('}');
  json.close('}');
}

void append_model(std::string& out, const Model& model) {
  JsonWriter json(out);
  json.open('{');
  json.string("id", model.id);
  json.string("object", "model");
  json.integer("created", model.created_s);
  json.string("owned_by", "afore");
  json.string("root", model.id);
  json.integer("max_model_len", model.max_model_len);
  json.close('}');
}

void append_model_list(std::string& out, const Model& model) {
  out += R"({"object":"list","data":[)";
  append_model(out, model);
  out += "]}";
}

void append_tokens(std::string& out, std::span<const int> ids, std::int64_t max_model_len) {
  JsonWriter json(out);
  json.open('{');
  json.integer("count", static_cast<std::int64_t>(ids.size()));
  json.integer("max_model_len", max_model_len);
  json.integers("tokens", ids);
  json.close('}');
}

void append_text(std::string& out, std::string_view text) {
  JsonWriter json(out);
  json.open('{');
  json.string("prompt", text);
  json.close('}');
}

}  // namespace afore::wire::openai
