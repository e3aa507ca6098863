#pragma once
// Which slice leads to which: for chrome_trace.cc.
#include <span>
#include <vector>

#include "wire/chrome_trace.h"

namespace afore::wire {

struct Flow {
  std::size_t from = 0, to = 0;  // slices
  const char* name = "";
};

// `slices` by start. A flow's target begins no earlier than its source ends.
std::vector<Flow> flows_of(std::span<const ChromeTrace::Slice> slices, std::span<const std::string> ops,
                           std::span<const ChromeTrace::CopyUse> copies);

}  // namespace afore::wire
