#include "http/completion_reply.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace afore::http {
namespace {

namespace openai = wire::openai;

std::int64_t unix_time_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool is_whole(const Completion& end) { return end.finish_reason == "stop" || end.finish_reason == "length"; }

// Why a request ended without its answer.
Answer failure(const Completion& end) {
  if (end.reject_reason == "kv_budget") return error_answer(400, "the request needs more memory than the server has");
  if (end.finish_reason == "rejected") return busy_answer("the request waited for too long");
  return error_answer(503, "the request was ended before it was done");
}

}  // namespace

CompletionReply::CompletionReply(Service& service, Exchange& exchange, std::string id, openai::Kind kind,
                                 const openai::Delivery& delivery)
    : LiveReply(service, exchange),
      id_(std::move(id)),
      kind_(kind),
      delivery_(delivery),
      created_s_(unix_time_s()),
      mailbox_(service.mailbox) {}

void CompletionReply::on_token(std::string_view text, std::int64_t) {
  if (!delivery_.stream || text.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    news_.text += text;
    news_.ends.push_back(news_.text.size());
  }
  mailbox_->ring(shared_from_this());
}

void CompletionReply::on_end(const Completion& completion) {
  {
    const std::lock_guard lock(mutex_);
    news_.end = completion;
  }
  mailbox_->ring(shared_from_this());
}

void CompletionReply::cancel() {
  exchange_ = nullptr;
  service_.backend.cancel(id_);
}

void CompletionReply::take_mail() {
  News news;
  {
    const std::lock_guard lock(mutex_);
    news = std::exchange(news_, {});
  }
  if (delivery_.stream) return stream(news);
  if (news.end) answer(*news.end);
}

void CompletionReply::answer(const Completion& end) {
  Exchange& exchange = *std::exchange(exchange_, nullptr);
  if (!is_whole(end)) return exchange.answer(failure(end));
  Answer answer;
  openai::append_answer(answer.body, facts(), end.text, end.finish_reason, {end.prompt_tokens, end.output_tokens});
  exchange.answer(std::move(answer));
}

// An event for each token, and one write for all of them.
void CompletionReply::stream(const News& news) {
  if (news.ends.empty() && !news.end) return;
  if (news.end && !begun_ && !is_whole(*news.end)) return answer(*news.end);
  std::string out;
  // The last token's text goes with the end, where both are here: clients count events as tokens.
  const std::size_t events = news.ends.size() - (news.end && !news.ends.empty() ? 1 : 0);
  std::size_t from = 0;
  for (std::size_t i = 0; i < events; ++i) {
    const std::string_view text = std::string_view(news.text).substr(from, news.ends[i] - from);
    openai::append_event(out, facts(), !std::exchange(spoken_, true), text, {});
    from = news.ends[i];
  }
  told_ += from;
  if (news.end) append_tail(out, *news.end);

  if (!std::exchange(begun_, true)) exchange_->begin("text/event-stream");
  exchange_->send(out);
  if (news.end) return std::exchange(exchange_, nullptr)->end();
  if (exchange_->unsent() > service_.options.limits.stream_bytes) exchange_->abort();
}

void CompletionReply::append_tail(std::string& out, const Completion& end) {
  if (!is_whole(end)) {
    out += openai::kEventBegin;
    out += failure(end).body;
    out += openai::kEventEnd;
  } else {
    const std::string_view rest = std::string_view(end.text).substr(std::min(told_, end.text.size()));
    openai::append_event(out, facts(), !spoken_, rest, end.finish_reason);
    if (delivery_.include_usage) openai::append_usage_event(out, facts(), {end.prompt_tokens, end.output_tokens});
  }
  out += openai::kDoneEvent;
}

openai::Answer CompletionReply::facts() const {
  return {.kind = kind_, .id = id_, .model = service_.backend.model().id, .created_s = created_s_};
}

}  // namespace afore::http
