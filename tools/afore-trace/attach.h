#pragma once
// `afore-trace record --attach`: batches and demand of an endpoint that serves.
#include <cstdint>
#include <string>

#include "common/record_sink.h"

namespace afore::cli {

struct AttachFlags {
  std::string url, token_file;
  std::int64_t steps = 0;  // 0: until the endpoint ends, or a signal comes
};

// The stream goes to `out`, which is finished unless a signal comes: then Error{interrupted}.
void record_endpoint(const AttachFlags& flags, RecordSink& out);

}  // namespace afore::cli
