#pragma once
// How workers that share a GPU share its multiprocessors (SMs).
#include <cstdint>
#include <string>

namespace afore {

struct SmSplit {
  std::int64_t gpu_sms = 0;     // of the GPU
  std::int64_t worker_sms = 0;  // of each worker's partition; 0: none has one
  std::string why_plain;        // then why streams are plain ones, in one phrase; empty with partitions
  std::int64_t sms_of_worker() const { return worker_sms > 0 ? worker_sms : gpu_sms; }
  bool operator==(const SmSplit&) const = default;
};

// "64 of 132 SMs each (green contexts)", "plain streams: driver 12.2 has no green contexts"
std::string describe(const SmSplit& split);

}  // namespace afore
