#pragma once
// In which of the possible orders things run: the threads of a block, the blocks of a launch, copies that nobody waits
// for yet, and the work that streams hold.
#include <cstdint>

namespace afore::shim {

// 0: in order, and as late as possible. Else an order drawn from the seed, from now on; the same seed and calls (of one
// thread) give the same order. Of four seeds one, the multiples of 4, has streams work as early as they can instead of
// as late. Code that is right gives the same results under all of them.
void set_schedule(std::uint64_t seed);

// Of the schedule. Callers hold the shim's lock.
bool random_schedule();
bool early_schedule();
std::uint64_t draw(std::uint64_t below);  // 0 … below - 1; 0 in order

}  // namespace afore::shim
