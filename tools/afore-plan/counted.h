#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace afore::plan {

// "1 copy", "3 copies".
inline std::string counted(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}
inline std::string counted(std::int64_t count, const char* one) {  // "1 layer", "3 layers"
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace afore::plan
