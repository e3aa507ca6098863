#pragma once
// The recorded requests of each pool in file order, and how often the file was too short.
#include <cstdint>
#include <span>
#include <vector>

#include "batch/composer.h"

namespace afore::batch {

class RequestQueue {
 public:
  // Every pool below `pools` must have a request.
  RequestQueue(std::span<const Request> requests, int pools);

  struct Taken {
    const Request* request = nullptr;  // owned by the queue
    bool repeat = false;               // its pool's requests had all been taken before
  };
  // The next request of the pool; after the last one, the first again.
  Taken take(int pool);
  std::int64_t repeats() const { return repeats_; }

 private:
  std::vector<std::vector<Request>> pools_;
  std::vector<std::uint64_t> taken_;  // by pool
  std::int64_t repeats_ = 0;
};

}  // namespace afore::batch
