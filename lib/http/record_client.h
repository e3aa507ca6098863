#pragma once
// Reads the live records of an endpoint, as a client.
#include <memory>
#include <string>
#include <string_view>

#include "util/stop_flag.h"

namespace afore::http {

class RecordClient {
 public:
  // Connects to URL, http://HOST[:PORT], and asks for its live records; empty `token`: none is sent. `stop`: a signal
  // sets it, and what waits throws Error{interrupted}. Error{usage} for what is no such URL, and where the endpoint
  // wants another token; Error{io} where there is none, or it is something else.
  RecordClient(const std::string& url, const std::string& token, const StopFlag* stop);
  ~RecordClient();
  RecordClient(const RecordClient&) = delete;
  RecordClient& operator=(const RecordClient&) = delete;

  // The next line without its LF, valid until the next call. False where the endpoint ended the stream; Error{io} where
  // it broke off, as for a reader that falls too far behind.
  bool next(std::string_view& line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore::http
