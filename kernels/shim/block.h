#pragma once
// A block of a launch: its threads as fibers, and where they meet. A thread runs until it waits, so what it did since
// its last barrier is done before another thread goes on: what is missing between two threads shows under some order.
//
// Errors are std::runtime_error, thrown by run_block after every thread has been unwound (a kernel's destructors run).
// - a barrier that only a part of the block reaches, or that two lines of code share: __syncthreads is for all threads;
// - lanes that wait for lanes that never come: in another call, with another mask, or at a barrier;
// - a lane that is not in the mask it gives.
// Lanes that have ended are not waited for, as since Volta. What a lane reads from one outside the mask is garbage.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels/shim/types.h"

namespace afore::shim {

inline constexpr unsigned kWarpLanes = 32;
inline constexpr unsigned kMostThreads = 1024;

// A place in the kernel's source. (std::source_location needs clang 16.)
struct Site {
  const char* file = "";
  int line = 0;
  static constexpr Site current(const char* file_ = __builtin_FILE(), int line_ = __builtin_LINE()) {
    return {file_, line_};
  }
};

struct Launch {
  dim3 grid, block;
  std::size_t dynamic_bytes = 0;
  std::function<void()> body;
};

// All blocks of the launch, one after the other. The caller holds the lock.
void run_blocks(const Launch& launch);

// --- of the thread that runs

// The operands of the lanes of a mask that met, null elsewhere.
struct Lanes {
  std::array<void*, kWarpLanes> operand{};
  std::uint32_t present = 0;
};
using Combine = void (*)(Lanes&);

// Waits for the lanes of `mask`; the last one to come runs `combine` over what all brought, then all go on.
void meet(std::uint32_t mask, void* operand, Combine combine, const Site& site);
void block_barrier(const Site& site);
unsigned lane();

// Of copy_async: bytes from global memory, and zeros up to 16, to shared memory. They arrive when a wait demands it;
// under a random schedule perhaps before.
void queue_copy(void* shared, const void* global, std::uint32_t bytes);
void commit_copies();
void wait_copies(unsigned groups_left);

}  // namespace afore::shim
