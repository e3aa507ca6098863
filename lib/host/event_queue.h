#pragma once
// Virtual time: events leave in order of (time, insertion). A binary heap over plain values.
#include <cstdint>
#include <queue>
#include <vector>

#include "core/ids.h"
#include "util/error.h"

namespace afore::host {

template <class Payload>
class EventQueue {
 public:
  struct Event {
    Nanos at_ns = 0;
    std::uint64_t sequence = 0;
    Payload payload;
  };

  // Error{data} from 2^62 ns on.
  void push(Nanos at_ns, const Payload& payload) {
    AFORE_CHECK(at_ns >= now_, "an event lies in the past");
    if (at_ns >= kEndOfTime)
      throw Error(ErrorKind::data, "simulated time is beyond 2^62 ns", "check the cost file and the counts");
    heap_.push({at_ns, next_++, payload});
  }
  // The next event; time moves to it.
  Payload pop() {
    const Event event = heap_.top();
    heap_.pop();
    now_ = event.at_ns;
    return event.payload;
  }
  bool empty() const { return heap_.empty(); }
  Nanos now() const { return now_; }

 private:
  static constexpr Nanos kEndOfTime = Nanos{1} << 62;  // so that a time plus one operation never wraps
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.at_ns != b.at_ns ? a.at_ns > b.at_ns : a.sequence > b.sequence;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> heap_;
  std::uint64_t next_ = 0;
  Nanos now_ = 0;
};

}  // namespace afore::host
