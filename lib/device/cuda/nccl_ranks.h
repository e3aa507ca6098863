#pragma once
// The NCCL communicators of this process's ranks: one for each rank, which is one for each GPU.
//
// Two ranks on one GPU are impossible. Ranks of this process with equal devices are refused before NCCL is called; of
// other processes only NCCL knows, and its "Duplicate GPU detected" becomes the Error.
//
// Communicators are non-blocking, so no call here waits longer than its deadline. Errors have NCCL's own text. Whatever
// fails (Error{io}) breaks the ranks for good: everything under way ends, and every call, on any thread, throws the
// first reason. Peers in other processes notice only by their own deadlines, or by a reason that the caller brings
// them.
#include <chrono>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/local_rank.h"
#include "device/cuda/nccl_api.h"
#include "device/cuda/sockets.h"

namespace afore::device::cuda {

// Error{io} with NCCL's words; what is still under way is no error.
void must(const std::string& what, ncclResult_t result);

ncclUniqueId new_nccl_id();

class NcclRanks {
 public:
  using Timeout = std::chrono::milliseconds;

  // Returns when all ranks, in all processes, have come with the same id. Error{usage} for ranks or devices that make
  // no group.
  NcclRanks(const ncclUniqueId& id, int world_size, std::span<const LocalRank> ranks, Timeout timeout);
  // Waits a while for work under way to end; behind that, or when they are broken, aborts it.
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  std::span<const LocalRank> ranks() const { return ranks_; }

  // By place among ranks().
  using Comms = std::span<const ncclComm_t>;
  // Calls `ask` within one NCCL group, and returns when what it asked for is on its streams. `what` begins an error's
  // text; `late` is the error behind the deadline.
  void together(const std::string& what, const std::function<void(Comms)>& ask, Deadline deadline,
                const std::string& late);
  // Returns when `done` says so, which is called under the lock. Throws what fails meanwhile on any rank.
  void wait(const std::function<bool()>& done, Deadline deadline, const std::string& late);
  // Throws what has failed since, on any rank.
  void check();
  // From any thread, also while others are in a call.
  void abort(const std::string& why) noexcept;

 private:
  void check_devices() const;
  void begin(const ncclUniqueId& id, int world_size);
  void finish();
  void throw_if_broken() const;
  bool settled();
  void look_until(const std::function<bool()>& done, Deadline deadline, const std::string& late);

  std::mutex mutex_;  // around all use of the communicators, as an abort frees them
  std::string broken_;
  std::vector<LocalRank> ranks_;
  std::vector<ncclComm_t> comms_;
};

}  // namespace afore::device::cuda
