#pragma once
// How long copies have been under way in all, so that what happened meanwhile is told from what happened without them.
#include "core/ids.h"
#include "util/error.h"

namespace afore::pipeline {

class CopyClock {
 public:
  void on_started(Nanos now) {
    if (running_++ == 0) since_ns_ = now;
  }
  void on_ended(Nanos now) {
    AFORE_CHECK(running_ > 0, "a copy ends that was not under way");
    if (--running_ == 0) total_ns_ += now - since_ns_;
  }
  void on_abandoned(Nanos now) {
    total_ns_ = copying_ns(now);
    running_ = 0;
  }
  // From the start to `now`: the time during which at least one copy was under way.
  Nanos copying_ns(Nanos now) const { return total_ns_ + (running_ > 0 ? now - since_ns_ : 0); }

 private:
  long running_ = 0;
  Nanos since_ns_ = 0, total_ns_ = 0;
};

}  // namespace afore::pipeline
