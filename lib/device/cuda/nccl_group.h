#pragma once
// The ranks among which partial outputs of FFN workers are summed: one NCCL communicator for each rank of this process.
// Copies of experts never go through it.
//
// NCCL has one rank per GPU: two ranks on one GPU are impossible. Ranks of this process with equal devices are refused
// before NCCL is called; of other processes only NCCL knows, and its "Duplicate GPU detected" becomes the Error.
//
// Communicators are non-blocking, so no call here waits longer than its timeout. Whatever fails (Error{io}, with NCCL's
// own text) breaks the group for good: everything under way ends, and every call, on any thread, throws the first
// reason. Peers in other processes notice only by their own timeouts, or by a reason that the caller brings them.
#include <cuda_runtime.h>
#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/turnstile.h"

namespace afore::device::cuda {

struct LocalRank {
  int rank;
  int device;  // as cudaSetDevice takes it
};

// One rank's part in a sum. `send` and `receive` are on the rank's device and may be the same; they stay untouched by
// others until `stream` has passed the sum.
struct SumPart {
  int rank;
  cudaStream_t stream;
  const float* send;
  float* receive;
  std::size_t count;  // of floats, the same on all ranks
};

class NcclGroup {
 public:
  using Timeout = std::chrono::milliseconds;

  // Returns when all ranks, in all processes, have come with the same id. Error{usage} for ranks or devices that make
  // no group.
  NcclGroup(const ncclUniqueId& id, int world_size, std::span<const LocalRank> ranks, Timeout timeout);
  // Waits a while for work under way to end; behind that, or in a broken group, aborts it.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // Puts a sum over all ranks onto the streams, as one NCCL group, with a part for each rank of this process.
  // `sequence` counts the group's sums 0, 1, 2, ... alike in every process: a call waits until those before it are
  // made, so that threads may call in any order and every rank still has the same one.
  void all_reduce(std::uint64_t sequence, std::span<const SumPart> parts, Timeout timeout);

  // Returns when the streams have done all they were given. Where a peer has died, cudaStreamSynchronize would not.
  void wait(std::span<const cudaStream_t> streams, Timeout timeout);

  // Breaks the group, from any thread, also while others are in a call.
  void abort(const std::string& why) noexcept;

 private:
  struct Member {
    LocalRank at;
    ncclComm_t comm = nullptr;
  };
  void check_devices() const;
  void begin(const ncclUniqueId& id, int world_size);
  void enqueue(std::span<const SumPart> parts);
  void finish();
  bool settled();
  template <typename Done>
  void wait_until(const Done& done, Deadline deadline, const std::string& what);

  Turnstile turnstile_;  // knows as well whether, and why, the group is broken
  std::mutex mutex_;     // around all use of the communicators, as an abort frees them
  std::vector<Member> members_;
};

}  // namespace afore::device::cuda
