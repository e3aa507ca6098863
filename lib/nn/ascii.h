#pragma once
// Classes of characters that do not depend on the locale.

namespace afore::nn {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace afore::nn
