#pragma once
// The rotary angles of every position, the same on every device.
#include <vector>

namespace afore::device {

// [positions][rotary_dim]: the cosines of rotary_dim/2 angles, then their sines. rotary_dim is even.
std::vector<float> rotary_table(int rotary_dim, double theta, int positions);

}  // namespace afore::device
