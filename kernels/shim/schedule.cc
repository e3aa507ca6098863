#include "kernels/shim/schedule.h"

#include "kernels/shim/lock.h"

namespace afore::shim {
namespace {

bool random = false, early = false;
std::uint64_t state = 0;

}  // namespace

void set_schedule(std::uint64_t seed) {
  const Lock lock = take_lock();
  random = seed != 0;
  early = random && seed % 4 == 0;
  state = seed;
}

bool random_schedule() { return random; }
bool early_schedule() { return early; }

// splitmix64; what the remainder favours does not matter here.
std::uint64_t draw(std::uint64_t below) {
  if (!random) return 0;
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t bits = state;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
  return (bits ^ bits >> 31) % below;
}

}  // namespace afore::shim
