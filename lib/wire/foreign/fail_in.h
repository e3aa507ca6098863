#pragma once
// The error of a foreign file that has no finer place to name. Inside this room only.
#include <string>

#include "util/error.h"

namespace afore::wire {

[[noreturn]] inline void fail_in(const std::string& source, const std::string& fact, const std::string& hint = "") {
  throw Error(ErrorKind::data, source + ": " + fact, hint);
}

}  // namespace afore::wire
