#pragma once
// The answer to a completion or a chat: tokens from the model's thread as events of a stream, or as one text.
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"

namespace afore::http {

class CompletionReply final : public LiveReply, public Listener, public std::enable_shared_from_this<CompletionReply> {
 public:
  CompletionReply(Service& service, Exchange& exchange, std::string id, wire::openai::Kind kind,
                  const wire::openai::Delivery& delivery);

  void on_token(std::string_view text, std::int64_t tokens) override;
  void on_end(const Completion& completion) override;
  void cancel() override;

 private:
  // What came since it was last taken.
  struct News {
    std::string text;
    std::vector<std::size_t> ends;  // of each token's text; tokens without any are part of the next
    std::optional<Completion> end;
  };

  void take_mail() override;
  void stream(const News& news);
  void append_tail(std::string& out, const Completion& end);
  void answer(const Completion& end);
  void fail(const Completion& end);
  wire::openai::Answer facts() const;

  const std::string id_;
  const wire::openai::Kind kind_;
  const wire::openai::Delivery delivery_;
  const std::int64_t created_s_;
  const std::shared_ptr<Mailbox> mailbox_;  // which a late call still needs

  std::mutex mutex_;
  News news_;

  // The network's thread's:
  bool begun_ = false, spoken_ = false;
  std::size_t told_ = 0;  // bytes of the text
};

}  // namespace afore::http
