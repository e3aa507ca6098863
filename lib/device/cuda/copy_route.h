#pragma once
// How the bytes of an expert get from one worker's arena to another's. A route decides nothing: it enqueues.
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "device/cuda/lane.h"

namespace afore::device::cuda {

// A worker's GPU is its lane's: what it sends is on it and, where receiving is work too, what it receives.
using CopyLanes = std::span<Lane* const>;  // by worker

struct SlotCopy {
  int from = 0, to = 0;  // workers
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
};

// Whatever fails is Error{io}. Another GPU may be the calling thread's after a call.
class CopyRoute {
 public:
  virtual ~CopyRoute() = default;

  // Copies of `bytes` each that go at the same time, each behind all that its sender sent before. A worker is the
  // sender of one at most.
  virtual void copy(std::span<const SlotCopy> copies, std::size_t bytes) = 0;
  // A stream of the sender's GPU that is, after copy(), behind the arrival of all that it sent.
  virtual cudaStream_t sent(int worker) const = 0;
  // The most that a copy puts onto one stream.
  virtual int operations_per_copy() const = 0;
  // Until all copies are done, or it is clear that they never will be.
  virtual void wait() = 0;
};

// By cudaMemcpyAsync within a GPU, and cudaMemcpyPeerAsync between two.
std::unique_ptr<CopyRoute> make_engine_route(CopyLanes lanes);

// Lanes outlive the route.
using CopyRouteMaker = std::function<std::unique_ptr<CopyRoute>(CopyLanes lanes)>;

}  // namespace afore::device::cuda
