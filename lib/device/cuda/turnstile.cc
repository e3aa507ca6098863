#include "device/cuda/turnstile.h"

#include <fmt/format.h>

#include "util/error.h"

namespace afore::device::cuda {

void Turnstile::enter(std::uint64_t number, Deadline deadline) {
  std::unique_lock lock(mutex_);
  AFORE_CHECK(number > next_ || (number == next_ && !inside_), "a call's number was used before");
  const auto ready = [&] { return !broken_.empty() || (next_ == number && !inside_); };
  if (!moved_.wait_until(lock, deadline, ready)) {
    broken_ = fmt::format("call {} did not get its turn in time: call {} {}", number, next_,
                          inside_ ? "has not ended" : "was not made");
    moved_.notify_all();
  }
  if (!broken_.empty()) throw Error(ErrorKind::io, broken_);
  inside_ = true;
}

void Turnstile::leave() {
  const std::lock_guard lock(mutex_);
  inside_ = false;
  ++next_;
  moved_.notify_all();
}

void Turnstile::break_off(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (broken_.empty()) broken_ = why;
  moved_.notify_all();
}

std::string Turnstile::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

}  // namespace afore::device::cuda
