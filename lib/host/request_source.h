#pragma once
// Where the requests of a serving loop come from. All calls come from the loop's thread.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/records.h"
#include "host/prompt.h"

namespace afore::host {

// What becomes of a request at the door, ahead of the loop. full: too many wait; draining: no more are taken.
enum class Submission { accepted, full, draining };

struct IncomingRequest {
  RequestRecord record;
  std::shared_ptr<const SequenceRecord> sequence{};  // for the simulator: the experts of its tokens
  std::shared_ptr<const Prompt> prompt{};            // for hosts that compute; record.prompt_tokens counts its tokens
};

class RequestSource {
 public:
  enum class Next { request, none_yet, end };

  virtual ~RequestSource() = default;
  // The next request, in order of arrival. Asked for one only when time has reached the one before it.
  virtual Next next(IncomingRequest& request) = 0;
  // After none_yet, with nothing else to do: returns when there is something new, or a few ms later at the latest, so
  // that signals are seen.
  virtual void wait() = 0;
  // Ids of requests that next() gave and whose clients went away since the last call; those that have ended meanwhile
  // are passed over.
  virtual void take_cancelled(std::vector<std::string>& ids) = 0;
};

// How many requests never came out of a source that refuses some.
struct UnreadRequests {
  std::int64_t full = 0;       // too many waited
  std::int64_t draining = 0;   // no more are taken
  std::int64_t cancelled = 0;  // taken, and its client went away before next() gave it
};

}  // namespace afore::host
