#pragma once
// Requests that come to an end: a list, or a stream that is read as they are needed. Their clients stay.
#include <functional>
#include <utility>

#include "host/request_source.h"

namespace afore::host {

class FiniteRequests final : public RequestSource {
 public:
  // `next` gives the next request; false: there are no more, and it is asked no further.
  explicit FiniteRequests(std::function<bool(IncomingRequest&)> next) : next_(std::move(next)) {}

  Next next(IncomingRequest& request) override { return next_(request) ? Next::request : Next::end; }
  void wait() override {}
  void take_cancelled(std::vector<std::string>&) override {}

 private:
  std::function<bool(IncomingRequest&)> next_;
};

}  // namespace afore::host
