#pragma once
// News from the model's thread for the network's: however much comes, one wake-up is on its way at a time, and each
// receiver is in the list once.
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace afore::http {

// Keeps what came, under a lock of its own; on_mail() is called on the network's thread.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual void on_mail() = 0;

 private:
  friend class Mailbox;
  bool listed_ = false;  // under the mailbox's lock
};

class Mailbox {
 public:
  // `wake` sees to it that deliver() is called soon, on the network's thread. It is called with a lock held.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void ring(const std::shared_ptr<Receiver>& receiver);  // by any thread
  void deliver();
  void close();  // nothing is woken or delivered any more

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<std::shared_ptr<Receiver>> listed_, delivered_;
};

}  // namespace afore::http
