#pragma once
#include <cmath>

namespace afore::plan {

// Six decimals: what is printed of a ratio or a time has no more meaning.
inline double rounded(double value) { return std::round(value * 1e6) / 1e6; }

}  // namespace afore::plan
