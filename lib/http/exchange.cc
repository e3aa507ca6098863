#include "http/exchange.h"

#include <fmt/format.h>

#include <utility>

#include "http/completion_reply.h"
#include "http/record_reply.h"
#include "wire/json_writer.h"

namespace afore::http {
namespace {

Answer internal_fault(const Service& service, const char* what) {
  service.log(fmt::format("a request failed inside: {}", what));
  Answer answer = error_answer(500, "something failed inside the server");
  answer.close = true;
  return answer;
}

Decoded decode_or_fault(const Service& service, Route route, std::string_view body, std::uint64_t seed) {
  try {
    return decode(route, body, service.backend, seed);
  } catch (const std::exception& error) {
    return internal_fault(service, error.what());
  }
}

Answer readiness(Service& service) {
  const std::string reason = service.draining ? "draining" : service.backend.not_ready();
  Answer answer{.status = reason.empty() ? 200 : 503};
  wire::JsonWriter json(answer.body);
  json.open('{');
  json.boolean("ready", reason.empty());
  if (!reason.empty()) json.string("reason", reason);
  json.close('}');
  return answer;
}

Answer model_list(const ModelCard& card) {
  Answer answer;
  wire::openai::append_model_list(answer.body, {card.id, card.created_s, card.max_model_len});
  return answer;
}

// SGLang's benchmark looks for the acceptance of speculative decoding in the first of internal_states.
Answer server_info(const ModelCard& card) {
  Answer answer;
  wire::JsonWriter json(answer.body);
  json.open('{');
  json.string("model_path", card.id);
  json.string("served_model_name", card.id);
  json.integer("max_model_len", card.max_model_len);
  json.key("internal_states");
  answer.body += "[{}]}";
  return answer;
}

}  // namespace

void LiveReply::on_mail() {
  if (exchange_ == nullptr) return;
  try {
    take_mail();
  } catch (const std::exception& error) {
    service_.log(fmt::format("an answer failed inside: {}", error.what()));
    if (exchange_ != nullptr) exchange_->abort();
  }
}

Exchange::Exchange(Service& service, Peer& peer, const Request& request)
    : service_(service), peer_(&peer), head_only_(request.method == Method::head) {
  const std::string fresh = service.fresh_id();
  terms_ = {std::string(request_id_or(request.request_id, fresh)), request.http10, request.keep_alive};
}

void Exchange::answer(Answer answer) {
  const auto self = shared_from_this();
  if (answer.close || service_.draining) terms_.keep_alive = false;
  std::string out;
  append_head(out, answer, terms_, Framing::length);
  if (!head_only_) out += answer.body;
  peer_->send(out);
  reply_.reset();
  std::exchange(peer_, nullptr)->answered(terms_.keep_alive);
}

void Exchange::run(Route route, Request request, std::shared_ptr<BodyHold> hold) {
  const auto self = shared_from_this();
  try {
    if (request.method == Method::post && route != Route::flush_cache) {
      decode_later(route, std::move(request), std::move(hold));
    } else {
      answer_now(route);
    }
  } catch (const std::exception& error) {
    if (peer_ == nullptr) return;
    Answer fault = internal_fault(service_, error.what());
    if (begun_) return peer_->abort();
    answer(std::move(fault));
  }
}

void Exchange::answer_now(Route route) {
  switch (route) {
    case Route::models: return answer(model_list(service_.backend.model()));
    case Route::health: return answer({.body = "{}"});
    case Route::ready: return answer(readiness(service_));
    case Route::metrics:
      return answer({.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = service_.backend.metrics()});
    case Route::placement: return answer({.body = service_.backend.placement()});
    case Route::server_info: return answer(server_info(service_.backend.model()));
    case Route::flush_cache: return answer({.body = "{}"});  // no request leaves anything cached
    case Route::demand: return follow_records();
    default: AFORE_CHECK(false, "the route has no body");
  }
}

void Exchange::follow_records() {
  begin("application/x-ndjson");
  if (head_only_) return end();
  endless_ = true;
  const auto reply = std::make_shared<RecordReply>(service_, *this);
  reply_ = reply;
  service_.backend.subscribe(
      [reply](std::shared_ptr<const std::string> lines) { return reply->push(std::move(lines)); });
}

void Exchange::decode_later(Route route, Request request, std::shared_ptr<BodyHold> hold) {
  const bool generates = route == Route::completions || route == Route::chat_completions;
  if (generates && service_.draining) return answer(draining_answer());
  const auto body = std::make_shared<std::string>(std::move(request.body));
  const bool taken = service_.jobs.submit(
      [&service = service_, route, body, hold, seed = service_.fresh_seed(), weak = weak_from_this()]() mutable {
        if (weak.expired()) return;
        const auto decoded = std::make_shared<Decoded>(decode_or_fault(service, route, *body, seed));
        service.post([weak, decoded] {
          if (const auto self = weak.lock()) self->on_decoded(std::move(*decoded));
        });
      });
  if (!taken) answer(busy_answer("too many requests are being read"));
}

void Exchange::on_decoded(Decoded decoded) {
  if (peer_ == nullptr) return;
  if (auto* whole = std::get_if<Answer>(&decoded)) return answer(std::move(*whole));
  auto& wanted = std::get<GenerationRequest>(decoded);
  const std::string id = std::string(wire::openai::id_prefix(wanted.kind)) + service_.fresh_id();
  const auto reply = std::make_shared<CompletionReply>(service_, *this, id, wanted.kind, wanted.delivery);
  reply_ = reply;
  host::Submission submission;
  try {
    submission = service_.backend.submit(id, std::move(wanted.prompt), wanted.max_tokens, reply);
  } catch (const std::exception& error) {
    return answer(internal_fault(service_, error.what()));
  }
  if (submission == host::Submission::full) return answer(busy_answer("the queue is full"));
  if (submission == host::Submission::draining) return answer(draining_answer());
}

void Exchange::begin(std::string_view content_type) {
  begun_ = true;
  if (service_.draining || terms_.http10) terms_.keep_alive = false;
  std::string out;
  append_head(out, {.content_type = content_type}, terms_, terms_.http10 ? Framing::until_close : Framing::chunked);
  peer_->send(out);
}

void Exchange::send(std::string_view part) {
  if (part.empty()) return;
  if (terms_.http10) return peer_->send(part);
  std::string out;
  append_chunk(out, part);
  peer_->send(out);
}

void Exchange::end() {
  const auto self = shared_from_this();
  if (!terms_.http10 && !head_only_) peer_->send(kLastChunk);
  reply_.reset();
  if (service_.draining) terms_.keep_alive = false;
  std::exchange(peer_, nullptr)->answered(terms_.keep_alive);
}

void Exchange::on_progress() {
  if (const auto reply = reply_) reply->on_progress();
}

void Exchange::finish_live() {
  if (const auto reply = reply_) reply->finish();
}

void Exchange::cancel() {
  peer_ = nullptr;
  if (const auto reply = std::exchange(reply_, nullptr)) reply->cancel();
}

}  // namespace afore::http
