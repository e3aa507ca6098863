#pragma once
// The random number that chooses a token: the same on every device.
#include <cstdint>

namespace afore::device {

// In [0, 1), of the request's seed and the token's index alone.
double draw(std::uint64_t seed, std::uint64_t index);

}  // namespace afore::device
