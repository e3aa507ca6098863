#pragma once
// Live records for one reader.
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "http/exchange.h"

namespace afore::http {

class RecordReply final : public LiveReply, public std::enable_shared_from_this<RecordReply> {
 public:
  RecordReply(Service& service, Exchange& exchange)
      : LiveReply(service, exchange), mailbox_(service.mailbox), limit_bytes_(service.options.limits.record_bytes) {}

  // As Backend::LineSink, on the model's thread.
  bool push(std::shared_ptr<const std::string> lines);

  void on_progress() override;
  void finish() override;
  void cancel() override;

 private:
  void take_mail() override;
  std::shared_ptr<const std::string> next_lines();
  bool is_behind();

  const std::shared_ptr<Mailbox> mailbox_;  // which a late call still needs
  const std::size_t limit_bytes_;

  std::mutex mutex_;
  std::deque<std::shared_ptr<const std::string>> lines_;
  std::size_t bytes_ = 0;
  bool over_ = false;    // the reader is gone, or about to be
  bool behind_ = false;  // too far to go on
};

}  // namespace afore::http
