#include "device/draw.h"

#include "util/rng.h"

namespace afore::device {

double draw(std::uint64_t seed, std::uint64_t index) {
  char label[sizeof(index)];
  for (char& byte : label) {
    byte = static_cast<char>(index & 0xff);
    index >>= 8;
  }
  return Rng(seed, {label, sizeof(label)}).uniform();
}

}  // namespace afore::device
