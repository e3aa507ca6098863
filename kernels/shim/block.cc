#include "kernels/shim/block.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/shim/copies.h"
#include "kernels/shim/device_code.h"
#include "kernels/shim/fiber.h"
#include "kernels/shim/schedule.h"
#include "kernels/shim/shared_memory.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace afore::shim {
namespace {

enum class State : std::uint8_t { ready, at_barrier, in_warp, ended };

struct Thread {
  Fiber fiber;
  uint3 index{};
  unsigned number = 0;
  State state = State::ready;
  bool begun = false;
  std::uint32_t mask = 0;  // in_warp: whom it waits for, with what, in which call
  void* operand = nullptr;
  Combine combine = nullptr;
  Site site;
  Copies copies;
};

struct Warp {
  std::uint32_t gone = 0;     // lanes that have ended, or that the block does not have
  std::uint32_t waiting = 0;  // lanes in_warp
};

// Thrown through the threads that remain when one has failed.
struct Unwind {};

struct Block {
  std::vector<std::unique_ptr<Thread>> threads;  // kept for the next block; the first `count` are in use
  unsigned count = 0;
  std::array<Warp, kMostThreads / kWarpLanes> warps;
  std::array<std::uint16_t, kMostThreads> ready;  // a ring: each thread is in it once at most
  unsigned first_ready = 0, num_ready = 0;
  unsigned at_barrier = 0, ended = 0;
  Site barrier_site;  // of the first one there
  std::exception_ptr failure;
  bool unwinding = false;
  Thread* running = nullptr;
  const std::function<void()>* body = nullptr;
};
Block block;

std::string place(const Site& site) { return std::string(" (") + site.file + ":" + std::to_string(site.line) + ")"; }

void make_ready(Thread& thread) {
  thread.state = State::ready;
  block.ready[(block.first_ready + block.num_ready++) % kMostThreads] = static_cast<std::uint16_t>(thread.number);
}

unsigned warp_begin(const Thread& thread) { return thread.number / kWarpLanes * kWarpLanes; }

// The thread waits in `state` until someone makes it ready.
void wait(State state) {
  Thread& self = *block.running;
  self.state = state;
  Fiber::pause();
  if (block.unwinding) throw Unwind{};
}

// When all of `mask` that have not ended wait for one another in one call: runs it and lets all go on but `self`, the
// one that runs.
void complete(unsigned begin, std::uint32_t mask, const Thread* self) {
  Warp& warp = block.warps[begin / kWarpLanes];
  if ((mask & ~warp.gone & ~warp.waiting) != 0) return;
  Lanes lanes;
  Combine combine = nullptr;
  const unsigned end = std::min(block.count, begin + kWarpLanes);
  for (unsigned i = begin; i < end; ++i) {
    Thread& thread = *block.threads[i];
    if ((mask >> (i - begin) & 1) == 0 || thread.state == State::ended) continue;
    if (thread.mask != mask) return;
    if (combine != nullptr && thread.combine != combine) return;
    combine = thread.combine;
    lanes.operand[i - begin] = thread.operand;
    lanes.present |= 1u << (i - begin);
  }
  if (combine == nullptr) return;
  combine(lanes);
  warp.waiting &= ~lanes.present;
  for (unsigned i = begin; i < end; ++i) {
    if ((lanes.present >> (i - begin) & 1) == 0) continue;
    if (block.threads[i].get() == self) block.threads[i]->state = State::ready;
    else make_ready(*block.threads[i]);
  }
}

// Lanes that waited for it no longer do.
void end_thread(Thread& thread) {
  thread.state = State::ended;
  ++block.ended;
  const unsigned begin = warp_begin(thread), end = std::min(block.count, begin + kWarpLanes);
  block.warps[begin / kWarpLanes].gone |= 1u << (thread.number - begin);
  for (unsigned i = begin; i < end; ++i)
    if (block.threads[i]->state == State::in_warp) complete(begin, block.threads[i]->mask, nullptr);
}

void thread_body(void* argument) {
  auto& thread = *static_cast<Thread*>(argument);
  try {
    (*block.body)();
    end_thread(thread);
  } catch (const Unwind&) {
  } catch (...) {
    block.failure = std::current_exception();
  }
  thread.state = State::ended;
}

void resume(Thread& thread) {
  thread.begun = true;
  block.running = &thread;
  threadIdx = thread.index;
  thread.fiber.resume();
}

// Nobody can go on: why.
std::string stuck() {
  for (unsigned i = 0; i < block.count; ++i) {
    const Thread& thread = *block.threads[i];
    if (thread.state != State::in_warp) continue;
    const unsigned begin = warp_begin(thread), end = std::min(block.count, begin + kWarpLanes);
    for (unsigned j = begin; j < end; ++j) {
      const Thread& other = *block.threads[j];
      if ((thread.mask >> (j - begin) & 1) == 0 || other.state != State::in_warp) continue;
      if (other.mask != thread.mask)
        return "wrong mask: lanes that name each other wait with different masks" + place(thread.site) +
               place(other.site);
      if (other.combine != thread.combine)
        return "deadlock: lanes of one mask wait in different calls" + place(thread.site) + place(other.site);
    }
    return "deadlock: lanes wait for lanes of their mask that are at a barrier of the block" + place(thread.site);
  }
  return "__syncthreads is reached by only a part of the block: " + std::to_string(block.at_barrier) + " of " +
         std::to_string(block.count) + " threads" + place(block.barrier_site);
}

void begin_block(const Launch& launch, uint3 index) {
  blockIdx = index;
  block.count = launch.block.x * launch.block.y * launch.block.z;
  block.first_ready = block.num_ready = block.at_barrier = block.ended = 0;
  block.failure = nullptr;
  block.unwinding = false;
  block.body = &launch.body;
  while (block.threads.size() < block.count) block.threads.push_back(std::make_unique<Thread>());
  spoil_shared();
  for (unsigned i = 0; i < kMostThreads; i += kWarpLanes) {
    const unsigned lanes = std::clamp(block.count, i, i + kWarpLanes) - i;
    block.warps[i / kWarpLanes] = {lanes == kWarpLanes ? 0 : ~0u << lanes, 0};
  }
  for (unsigned i = 0; i < block.count; ++i) {
    Thread& thread = *block.threads[i];
    thread.number = i;
    thread.index = {i % launch.block.x, i / launch.block.x % launch.block.y, i / (launch.block.x * launch.block.y)};
    thread.begun = false;
    thread.fiber.start(&thread_body, &thread);
    make_ready(thread);
  }
}

// In order: who became ready first, which after a barrier is the threads' order.
Thread& take_ready() {
  std::swap(block.ready[block.first_ready], block.ready[(block.first_ready + draw(block.num_ready)) % kMostThreads]);
  const unsigned number = block.ready[block.first_ready];
  block.first_ready = (block.first_ready + 1) % kMostThreads;
  --block.num_ready;
  return *block.threads[number];
}

void unwind() {
  block.unwinding = true;
  for (unsigned i = 0; i < block.count; ++i) {
    Thread& thread = *block.threads[i];
    if (thread.begun && thread.state != State::ended) resume(thread);
    thread.copies.forget();
  }
}

void run_block() {
  while (block.num_ready > 0 && !block.failure) resume(take_ready());
  if (!block.failure && block.ended < block.count) block.failure = std::make_exception_ptr(std::runtime_error(stuck()));
  if (block.failure) {
    unwind();
    std::rethrow_exception(std::exchange(block.failure, nullptr));
  }
  for (unsigned i = 0; i < block.count; ++i) block.threads[i]->copies.finish();
}

}  // namespace

void run_blocks(const Launch& launch) {
  gridDim = launch.grid;
  blockDim = launch.block;
  const DynamicShared dynamic(launch.dynamic_bytes);
  const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  std::vector<std::uint64_t> order;
  if (random_schedule()) {
    for (std::uint64_t i = 0; i < blocks; ++i) order.push_back(i);
    for (std::uint64_t i = blocks; i > 1; --i) std::swap(order[i - 1], order[draw(i)]);
  }
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t number = order.empty() ? i : order[i];
    const std::uint64_t row = number / launch.grid.x;
    begin_block(launch, {static_cast<unsigned>(number % launch.grid.x), static_cast<unsigned>(row % launch.grid.y),
                         static_cast<unsigned>(row / launch.grid.y)});
    run_block();
  }
}

unsigned lane() { return block.running->number % kWarpLanes; }

void meet(std::uint32_t mask, void* operand, Combine combine, const Site& site) {
  Thread& self = *block.running;
  if ((mask >> lane() & 1) == 0)
    throw std::runtime_error("wrong mask: a lane is not in the mask it gives" + place(site));
  self.copies.perhaps_arrive();
  self.mask = mask;
  self.operand = operand;
  self.combine = combine;
  self.site = site;
  self.state = State::in_warp;
  block.warps[self.number / kWarpLanes].waiting |= 1u << lane();
  complete(warp_begin(self), mask, &self);
  if (self.state == State::in_warp) wait(State::in_warp);
}

void block_barrier(const Site& site) {
  Thread& self = *block.running;
  self.copies.perhaps_arrive();
  const Site& first = block.barrier_site;
  if (block.at_barrier > 0 && (first.line != site.line || std::strcmp(first.file, site.file) != 0))
    throw std::runtime_error("divergent barrier: a block waits in two places" + place(first) + place(site));
  block.barrier_site = site;
  if (++block.at_barrier < block.count) return wait(State::at_barrier);
  block.at_barrier = 0;
  for (unsigned i = 0; i < block.count; ++i)
    if (block.threads[i]->state == State::at_barrier) make_ready(*block.threads[i]);
}

void queue_copy(void* shared, const void* global, std::uint32_t bytes) {
  block.running->copies.queue(shared, global, bytes);
}
void commit_copies() { block.running->copies.commit(); }
void wait_copies(unsigned groups_left) { block.running->copies.wait(groups_left); }

}  // namespace afore::shim
