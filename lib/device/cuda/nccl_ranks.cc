#include "device/cuda/nccl_ranks.h"

#include <fmt/format.h>

#include <exception>
#include <thread>
#include <utility>

#include "device/cuda/rendezvous_frame.h"
#include "device/cuda/rendezvous_roster.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

constexpr NcclRanks::Timeout kGoodbye{5'000};
// Work is put onto its streams in some tens of microseconds: a few looks without a pause find that.
constexpr int kEagerLooks = 200;
constexpr std::chrono::microseconds kPause{200};

void must_cuda(const std::string& what, cudaError_t result) {
  if (result != cudaSuccess) throw Error(ErrorKind::io, fmt::format("CUDA: {}: {}", what, cudaGetErrorString(result)));
}

// One NCCL group, which is closed also where a call in it throws.
template <typename Calls>
void as_one_group(const std::string& what, const Calls& calls) {
  must(what, ncclGroupStart());
  try {
    calls();
  } catch (...) {
    ncclGroupEnd();
    throw;
  }
  must(what, ncclGroupEnd());
}

void check_ranks(int world_size, std::span<const LocalRank> ranks) {
  if (ranks.empty()) throw Error(ErrorKind::usage, "a process without ranks has no part in a group");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank < 0 || ranks[i].rank >= world_size)
      throw Error(ErrorKind::usage,
                  fmt::format("rank {} of {}: ranks go from 0 to {}", ranks[i].rank, world_size, world_size - 1));
    for (std::size_t k = 0; k < i; ++k) {
      if (ranks[i].rank == ranks[k].rank)
        throw Error(ErrorKind::usage, fmt::format("rank {} is there twice", ranks[i].rank));
      if (ranks[i].device == ranks[k].device)
        throw Error(ErrorKind::usage,
                    fmt::format("ranks {} and {} are both on device {}: NCCL has one rank per GPU", ranks[k].rank,
                                ranks[i].rank, ranks[i].device),
                    "workers that share a GPU are one rank, and sum their outputs on the GPU first");
    }
  }
}

// The current device of the calling thread is what it was.
class DeviceGuard {
 public:
  DeviceGuard() { must_cuda("the current device", cudaGetDevice(&device_)); }
  ~DeviceGuard() { cudaSetDevice(device_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int device_ = 0;
};

}  // namespace

void must(const std::string& what, ncclResult_t result) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* last = ncclGetLastError(nullptr);
  const std::string detail = last && *last ? fmt::format(" ({})", printable(last)) : "";
  throw Error(ErrorKind::io, fmt::format("NCCL: {}: {}{}", what, ncclGetErrorString(result), detail));
}

ncclUniqueId new_nccl_id() {
  ncclUniqueId id;
  must("an id for a group", ncclGetUniqueId(&id));
  return id;
}

NcclRanks::NcclRanks(const ncclUniqueId& id, int world_size, std::span<const LocalRank> ranks, Timeout timeout)
    : ranks_(ranks.begin(), ranks.end()), comms_(ranks.size(), nullptr) {
  const Deadline deadline = Clock::now() + timeout;
  check_ranks(world_size, ranks);
  check_devices();
  try {
    begin(id, world_size);
    look_until([] { return true; }, deadline,
               fmt::format("not all of {} ranks came to the group within {}", world_size, seconds(timeout)));
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

NcclRanks::~NcclRanks() {
  if (!broken_.empty()) return;
  try {
    finish();
  } catch (const std::exception& error) {
    abort(error.what());
  }
}

void NcclRanks::check_devices() const {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess)
    throw Error(ErrorKind::io, fmt::format("no GPU can be used: {}", cudaGetErrorString(result)),
                "check with nvidia-smi that a driver is installed and sees a GPU");
  for (const LocalRank& at : ranks_)
    if (at.device < 0 || at.device >= count)
      throw Error(ErrorKind::usage,
                  fmt::format("rank {} is on device {}, and this process sees {} devices", at.rank, at.device, count));
}

void NcclRanks::begin(const ncclUniqueId& id, int world_size) {
  const std::lock_guard lock(mutex_);
  const DeviceGuard guard;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  as_one_group("the group cannot begin", [&] {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      must_cuda("a rank's device", cudaSetDevice(ranks_[i].device));
      must("the group cannot begin", ncclCommInitRankConfig(&comms_[i], world_size, id, ranks_[i].rank, &config));
    }
  });
}

void NcclRanks::together(const std::string& what, const std::function<void(Comms)>& ask, Deadline deadline,
                         const std::string& late) {
  try {
    {
      const std::lock_guard lock(mutex_);
      throw_if_broken();
      as_one_group(what, [&] { ask(comms_); });
    }
    look_until([] { return true; }, deadline, late);
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

void NcclRanks::wait(const std::function<bool()>& done, Deadline deadline, const std::string& late) {
  try {
    look_until(done, deadline, late);
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

void NcclRanks::check() {
  try {
    const std::lock_guard lock(mutex_);
    throw_if_broken();
    settled();
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

void NcclRanks::throw_if_broken() const {
  if (!broken_.empty()) throw Error(ErrorKind::io, broken_);
}

// Under the mutex: no communicator has anything left to begin. Throws what NCCL says has failed.
bool NcclRanks::settled() {
  bool all = true;
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    ncclResult_t state = ncclSuccess;
    must("the state of a rank", ncclCommGetAsyncError(comms_[i], &state));
    must(fmt::format("rank {}", ranks_[i].rank), state);
    all = all && state == ncclSuccess;
  }
  return all;
}

// Looks again and again, each time under the mutex, so that an abort gets in between.
void NcclRanks::look_until(const std::function<bool()>& done, Deadline deadline, const std::string& late) {
  for (int look = 0;; ++look) {
    {
      const std::lock_guard lock(mutex_);
      throw_if_broken();
      if (settled() && done()) return;
    }
    if (Clock::now() >= deadline) throw Error(ErrorKind::io, late);
    if (look < kEagerLooks) std::this_thread::yield();
    else std::this_thread::sleep_for(kPause);
  }
}

void NcclRanks::finish() {
  {
    const std::lock_guard lock(mutex_);
    as_one_group("the group cannot end", [&] {
      for (const ncclComm_t comm : comms_) must("a rank cannot end", ncclCommFinalize(comm));
    });
  }
  look_until([] { return true; }, Clock::now() + kGoodbye, "the group did not end");
  const std::lock_guard lock(mutex_);
  for (ncclComm_t& comm : comms_) ncclCommDestroy(std::exchange(comm, nullptr));
}

void NcclRanks::abort(const std::string& why) noexcept {
  const std::lock_guard lock(mutex_);
  if (broken_.empty()) broken_ = why;  // whoever looks next leaves, and nobody touches a communicator any more
  for (ncclComm_t& comm : comms_)
    if (const ncclComm_t one = std::exchange(comm, nullptr)) ncclCommAbort(one);
}

}  // namespace afore::device::cuda
