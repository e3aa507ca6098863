#include "device/cuda/nccl_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "device/cuda/rendezvous_frame.h"
#include "device/cuda/rendezvous_roster.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

constexpr NcclGroup::Timeout kWelcome{60'000}, kGoodbye{5'000};
// A sum is put onto its streams in some tens of microseconds: a few looks without a pause find that.
constexpr int kEagerLooks = 200;
constexpr std::chrono::microseconds kPause{200};

[[noreturn]] void fail(const std::string& what, ncclResult_t result) {
  const char* last = ncclGetLastError(nullptr);
  const std::string detail = last && *last ? fmt::format(" ({})", printable(last)) : "";
  throw Error(ErrorKind::io, fmt::format("NCCL: {}: {}{}", what, ncclGetErrorString(result), detail));
}

void must(const std::string& what, ncclResult_t result) {
  if (result != ncclSuccess && result != ncclInProgress) fail(what, result);
}

void must(const std::string& what, cudaError_t result) {
  if (result != cudaSuccess) throw Error(ErrorKind::io, fmt::format("CUDA: {}: {}", what, cudaGetErrorString(result)));
}

// Calls `each` for all members in one NCCL group, which is closed also where a call in it throws.
template <typename Members, typename Each>
void as_one_group(const std::string& what, Members& members, const Each& each) {
  must(what, ncclGroupStart());
  try {
    for (auto& member : members) each(member);
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
  DeviceGuard() { must("the current device", cudaGetDevice(&device_)); }
  ~DeviceGuard() { cudaSetDevice(device_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int device_ = 0;
};

}  // namespace

NcclGroup::NcclGroup(const ncclUniqueId& id, int world_size, std::span<const LocalRank> ranks, Timeout timeout) {
  const Deadline deadline = Clock::now() + timeout;
  check_ranks(world_size, ranks);
  for (const LocalRank& rank : ranks) members_.push_back({rank});
  check_devices();
  try {
    begin(id, world_size);
    wait_until([&] { return settled(); }, deadline,
               fmt::format("not all of {} ranks came to the group within {}", world_size, seconds(timeout)));
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

NcclGroup::~NcclGroup() {
  if (!turnstile_.broken().empty()) return;
  try {
    finish();
  } catch (const std::exception& error) {
    abort(error.what());
  }
}

void NcclGroup::check_devices() const {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess)
    throw Error(ErrorKind::io, fmt::format("no GPU can be used: {}", cudaGetErrorString(result)),
                "check with nvidia-smi that a driver is installed and sees a GPU");
  for (const Member& member : members_)
    if (member.at.device < 0 || member.at.device >= count)
      throw Error(ErrorKind::usage, fmt::format("rank {} is on device {}, and this process sees {} devices",
                                                member.at.rank, member.at.device, count));
}

void NcclGroup::begin(const ncclUniqueId& id, int world_size) {
  const std::lock_guard lock(mutex_);
  const DeviceGuard guard;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  as_one_group("the group cannot begin", members_, [&](Member& member) {
    must("a rank's device", cudaSetDevice(member.at.device));
    must("the group cannot begin", ncclCommInitRankConfig(&member.comm, world_size, id, member.at.rank, &config));
  });
}

void NcclGroup::all_reduce(std::uint64_t sequence, std::span<const SumPart> parts, Timeout timeout) {
  const Deadline deadline = Clock::now() + timeout;
  AFORE_CHECK(parts.size() == members_.size(), "a sum has one part for each rank of the process");
  for (const SumPart& part : parts) AFORE_CHECK(part.count == parts[0].count, "all parts of a sum have one size");
  turnstile_.enter(sequence, deadline);
  try {
    enqueue(parts);
    wait_until([&] { return settled(); }, deadline,
               fmt::format("sum {} was not begun within {}", sequence, seconds(timeout)));
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
  turnstile_.leave();
}

void NcclGroup::enqueue(std::span<const SumPart> parts) {
  const std::lock_guard lock(mutex_);
  if (const std::string why = turnstile_.broken(); !why.empty()) throw Error(ErrorKind::io, why);
  std::vector<const SumPart*> by_member;
  for (const Member& member : members_) {
    const auto part =
        std::find_if(parts.begin(), parts.end(), [&](const SumPart& p) { return p.rank == member.at.rank; });
    AFORE_CHECK(part != parts.end(), "a sum has one part for each rank of the process");
    by_member.push_back(&*part);
  }
  as_one_group("a sum cannot begin", members_, [&](Member& member) {
    const SumPart& part = *by_member[static_cast<std::size_t>(&member - members_.data())];
    must("a sum cannot begin",
         ncclAllReduce(part.send, part.receive, part.count, ncclFloat, ncclSum, member.comm, part.stream));
  });
}

void NcclGroup::check() {
  try {
    const std::lock_guard lock(mutex_);
    if (const std::string why = turnstile_.broken(); !why.empty()) throw Error(ErrorKind::io, why);
    settled();
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

// Under the mutex: no communicator has anything left to begin. Throws what NCCL says has failed.
bool NcclGroup::settled() {
  bool all = true;
  for (const Member& member : members_) {
    ncclResult_t state = ncclSuccess;
    must("the state of a rank", ncclCommGetAsyncError(member.comm, &state));
    if (state != ncclSuccess && state != ncclInProgress) fail(fmt::format("rank {}", member.at.rank), state);
    all = all && state == ncclSuccess;
  }
  return all;
}

// Looks again and again, each time under the mutex, so that an abort gets in between.
template <typename Done>
void NcclGroup::wait_until(const Done& done, Deadline deadline, const std::string& what) {
  for (int look = 0;; ++look) {
    {
      const std::lock_guard lock(mutex_);
      if (const std::string why = turnstile_.broken(); !why.empty()) throw Error(ErrorKind::io, why);
      if (done()) return;
    }
    if (Clock::now() >= deadline) throw Error(ErrorKind::io, what);
    if (look < kEagerLooks) std::this_thread::yield();
    else std::this_thread::sleep_for(kPause);
  }
}

void NcclGroup::finish() {
  {
    const std::lock_guard lock(mutex_);
    as_one_group("the group cannot end", members_,
                 [](Member& member) { must("a rank cannot end", ncclCommFinalize(member.comm)); });
  }
  wait_until([&] { return settled(); }, Clock::now() + kGoodbye, "the group did not end");
  const std::lock_guard lock(mutex_);
  for (Member& member : members_) ncclCommDestroy(std::exchange(member.comm, nullptr));
}

void NcclGroup::abort(const std::string& why) noexcept {
  turnstile_.break_off(why);  // first: whoever looks next leaves, and nobody touches a communicator any more
  const std::lock_guard lock(mutex_);
  for (Member& member : members_)
    if (ncclComm_t comm = std::exchange(member.comm, nullptr)) ncclCommAbort(comm);
}

std::unique_ptr<SumGroup> make_nccl_group(std::span<const LocalRank> ranks) {
  ncclUniqueId id;
  must("an id for a group", ncclGetUniqueId(&id));
  return std::make_unique<NcclGroup>(id, static_cast<int>(ranks.size()), ranks, kWelcome);
}

}  // namespace afore::device::cuda
