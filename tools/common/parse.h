#pragma once
// What stands in the text of an option.
#include <cstdint>
#include <string>
#include <vector>

namespace afore::cli {

// The parts between `separator`, none for it at the end.
std::vector<std::string> split(const std::string& text, char separator);
// Sizes with KiB/MiB/GiB (and K/M/G as powers of two), as nccl-tests take them.
std::int64_t parse_bytes(const std::string& text, const std::string& flag);  // Error{usage}
// "50-64,70" -> sorted unique list. Error{usage}
std::vector<int> parse_int_list(const std::string& text, const std::string& flag);

}  // namespace afore::cli
