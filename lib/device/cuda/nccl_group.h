#pragma once
// The ranks among which partial outputs of FFN workers are summed: one NCCL communicator for each rank of this process.
// Copies of experts never go through it.
//
// NCCL has one rank per GPU: two ranks on one GPU are impossible. Ranks of this process with equal devices are refused
// before NCCL is called; of other processes only NCCL knows, and its "Duplicate GPU detected" becomes the Error.
//
// Communicators are non-blocking, so no call here waits longer than its timeout. Errors have NCCL's own text. Peers in
// other processes notice only by their own timeouts, or by a reason that the caller brings them.
#include <nccl.h>

#include <mutex>
#include <vector>

#include "device/cuda/sum_group.h"
#include "device/cuda/turnstile.h"

namespace afore::device::cuda {

class NcclGroup final : public SumGroup {
 public:
  // Returns when all ranks, in all processes, have come with the same id. Error{usage} for ranks or devices that make
  // no group.
  NcclGroup(const ncclUniqueId& id, int world_size, std::span<const LocalRank> ranks, Timeout timeout);
  // Waits a while for work under way to end; behind that, or in a broken group, aborts it.
  ~NcclGroup() override;
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // As one NCCL group.
  void all_reduce(std::uint64_t sequence, std::span<const SumPart> parts, Timeout timeout) override;
  void check() override;
  void abort(const std::string& why) noexcept override;

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
