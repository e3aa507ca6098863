#include "http/mailbox.h"

namespace afore::http {

void Mailbox::ring(const std::shared_ptr<Receiver>& receiver) {
  const std::lock_guard lock(mutex_);
  if (receiver->listed_ || !wake_) return;
  receiver->listed_ = true;
  listed_.push_back(receiver);
  if (listed_.size() == 1) wake_();
}

void Mailbox::deliver() {
  {
    const std::lock_guard lock(mutex_);
    delivered_.swap(listed_);
    for (const auto& receiver : delivered_) receiver->listed_ = false;
  }
  for (const auto& receiver : delivered_) receiver->on_mail();
  delivered_.clear();
}

void Mailbox::close() {
  std::vector<std::shared_ptr<Receiver>> dropped;
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
  dropped.swap(listed_);
}

}  // namespace afore::http
