#pragma once
// --inject: what goes wrong in a pipeline on threads, for tests of what watches it.
#include <string>

#include "host/threads/options.h"

namespace afore::serve {

// Like "hang-plan@2,hang-copy@0.5": the fault, and after how many seconds. Error{usage}.
host::ThreadFaults parse_inject(const std::string& text);

}  // namespace afore::serve
