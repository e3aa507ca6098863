#include "batch/request_queue.h"

#include "util/error.h"

namespace afore::batch {

RequestQueue::RequestQueue(std::span<const Request> requests, int pools) : pools_(pools), taken_(pools, 0) {
  for (const Request& request : requests) {
    AFORE_CHECK(request.tokens > 0, "a request without tokens");
    if (request.pool < pools) pools_[request.pool].push_back(request);
  }
  for (const auto& pool : pools_) AFORE_CHECK(!pool.empty(), "a pool without requests");
}

RequestQueue::Taken RequestQueue::take(int pool) {
  const std::vector<Request>& requests = pools_[pool];
  const std::uint64_t turn = taken_[pool]++;
  const bool repeat = turn >= requests.size();
  repeats_ += repeat;
  return {&requests[turn % requests.size()], repeat};
}

}  // namespace afore::batch
