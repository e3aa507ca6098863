#include "device/cuda/nccl_route.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"
#include "device/cuda/nccl_ranks.h"
#include "device/cuda/rendezvous_roster.h"
#include "device/cuda/transfer_event.h"

namespace afore::device::cuda {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kGoodbye{5'000};
constexpr std::size_t kSlowestBytesPerMs = 100'000;  // far below what two GPUs of one machine reach by any way

std::vector<LocalRank> ranks_of(CopyLanes lanes) {
  std::vector<LocalRank> ranks;
  for (const Lane* lane : lanes) ranks.push_back({static_cast<int>(ranks.size()), lane->gpu()});
  return ranks;
}

bool is_idle(const Lane& lane) {
  const cudaError_t code = cudaStreamQuery(lane.stream());
  if (code == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(code, "waiting for copies");
  return true;
}

class NcclRoute final : public CopyRoute {
 public:
  NcclRoute(CopyLanes lanes, milliseconds patience)
      : lanes_(lanes.begin(), lanes.end()),
        patience_(patience),
        ranks_(new_nccl_id(), static_cast<int>(lanes.size()), ranks_of(lanes), patience) {
    for (const Lane* lane : lanes) {
      sent_.emplace_back(lane->gpu(), Lane::Kind::copies);
      done_.emplace_back(lane->gpu());
    }
  }
  // What still hangs would hold its lanes for ever.
  ~NcclRoute() override {
    try {
      wait_for(std::min(patience_, kGoodbye));
    } catch (const std::exception&) {  // it is aborted
    }
  }

  void copy(std::span<const SlotCopy> copies, std::size_t bytes) override {
    const auto ask = [&](NcclRanks::Comms comms) {
      for (const SlotCopy& one : copies) {
        const auto from = static_cast<std::size_t>(one.from), to = static_cast<std::size_t>(one.to);
        must("a copy cannot begin", ncclSend(one.source, bytes, ncclInt8, one.to, comms[from], lanes_[from]->stream()));
        must("a copy cannot begin", ncclRecv(one.target, bytes, ncclInt8, one.from, comms[to], lanes_[to]->stream()));
      }
    };
    ranks_.together("a copy cannot begin", ask, Clock::now() + patience_,
                    fmt::format("a copy was not begun within {}", seconds(patience_)));
    for (const SlotCopy& one : copies) pass_on(one);
    under_way_bytes_ += bytes;
  }
  cudaStream_t sent(int worker) const override { return sent_[static_cast<std::size_t>(worker)].stream(); }
  int operations_per_copy() const override { return 4; }  // the kernel, what NCCL orders it with, and an event
  void wait() override {
    wait_for(patience_ + milliseconds(under_way_bytes_ / kSlowestBytesPerMs));
    under_way_bytes_ = 0;
  }

 private:
  // A sender's kernel may be done before the receiver has everything.
  void pass_on(const SlotCopy& copy) {
    const auto from = static_cast<std::size_t>(copy.from), to = static_cast<std::size_t>(copy.to);
    for (const std::size_t worker : {from, to}) {
      use(lanes_[worker]->gpu());
      done_[worker].record(lanes_[worker]->stream());
    }
    use(lanes_[from]->gpu());
    for (const std::size_t worker : {from, to})
      check(cudaStreamWaitEvent(sent_[from].stream(), done_[worker].get(), 0), "ordering a GPU");
  }
  void wait_for(milliseconds time) {
    ranks_.wait(
        [&] {
          return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane* lane) { return is_idle(*lane); }) &&
                 std::all_of(sent_.begin(), sent_.end(), is_idle);
        },
        Clock::now() + time, fmt::format("copies did not end within {}", seconds(time)));
  }

  std::vector<Lane*> lanes_;
  std::deque<Lane> sent_;   // by worker
  std::deque<Event> done_;  // by worker: the last kernel
  const milliseconds patience_;
  std::size_t under_way_bytes_ = 0;  // of copies that go one after the other
  NcclRanks ranks_;
};

}  // namespace

std::unique_ptr<CopyRoute> make_nccl_route(CopyLanes lanes, milliseconds patience) {
  return std::make_unique<NcclRoute>(lanes, patience);
}

}  // namespace afore::device::cuda
