#pragma once
// What `afore-trace stat` says of requests: how many, how fast they come, how long they are.
#include <cstdint>
#include <string>
#include <vector>

#include "core/records.h"
#include "json_object.h"
#include "trace/statistics.h"

namespace afore::cli {

class RequestStatistics {
 public:
  void add(const RequestRecord& request);
  // The rows of a recorded sequence as one target per layer of the header's model.
  void add(const SequenceRecord& sequence, const ModelSpec& model, trace::Statistics& statistics);

  bool any() const { return !prompt_tokens_.empty() || sequences_ > 0; }
  std::string text() const;  // one line
  JsonObject json() const;

 private:
  double seconds() const { return static_cast<double>(last_ns_ - first_ns_) / 1e9; }

  std::vector<std::int64_t> prompt_tokens_, output_tokens_;
  Nanos first_ns_ = 0, last_ns_ = 0;
  std::int64_t sequences_ = 0, rows_ = 0;
};

}  // namespace afore::cli
