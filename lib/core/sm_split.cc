#include "core/sm_split.h"

#include <fmt/format.h>

namespace afore {

std::string describe(const SmSplit& split) {
  if (split.worker_sms == 0) return "plain streams: " + split.why_plain;
  return fmt::format("{} of {} SMs each (green contexts)", split.worker_sms, split.gpu_sms);
}

}  // namespace afore
