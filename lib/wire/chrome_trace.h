#pragma once
// Operations as a trace in the JSON form of Chrome's about:tracing, which Perfetto opens ("Trace Event Format", Google,
// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU; times in microseconds).
//
// Processes: attention workers, FFN workers, links. A thread is one lane of one worker, and its slices never overlap:
// what does not fit goes to a second thread of that lane. Flows: attention -> each worker's expert FFN of the target ->
// the microbatch's next attention or sampling, and a copy -> the first FFN that the plans give its expert to on that
// worker. Counters: workers that compute, copies under way, and copied bytes (experts where their size is not known).
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/records.h"

namespace afore::wire {

class ChromeTrace {
 public:
  // With a step: its operations alone.
  explicit ChromeTrace(std::optional<std::int64_t> step = std::nullopt) : step_(step) {}

  // In the order of a stream; operations are kept, about 80 bytes each.
  void add(const Header& header);
  void add(const Plan& plan);
  void add(const Operation& operation);

  bool empty() const { return slices_.empty(); }
  std::string json() const;  // ends in LF; the same bytes for the same records

  struct Slice {
    Nanos start_ns = 0, end_ns = 0;
    Target target;
    int worker = 0;
    std::int16_t op = 0;    // index of ops_
    char pool = 'A';        // A, F
    std::uint8_t lane = 0;  // compute, copy, a2f, f2a
  };
  struct CopyUse {  // one expert that a plan brought to a worker
    Target planned, used;
    int expert = 0, worker = 0, slot = 0;
    bool is_used = false;
  };

 private:
  std::optional<std::int64_t> step_;
  std::int64_t expert_bytes_ = kAbsent;
  std::vector<std::string> ops_;
  std::vector<Slice> slices_;
  std::vector<CopyUse> copies_;                      // in the order of the plans
  std::map<int, std::vector<std::size_t>> waiting_;  // by layer: copies that stand, and no plan has used yet
};

}  // namespace afore::wire
