#pragma once
// Groups that sum over the stand-in's GPUs as NCCL does over real ones: each rank's stream waits until all have come,
// the sum is of streams' own making and late, and a rank that has passed it is ahead of others that have not.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "device/cuda/sum_group.h"
#include "kernels/vectors.h"
#include "util/error.h"
#include "util/rng.h"

namespace afore::device::cuda {

// What groups did, and are to do.
struct FakeSums {
  struct Group {
    std::vector<int> gpus;                // by rank
    std::vector<std::uint64_t> sequence;  // of its sums, in the order of the calls
    std::vector<std::size_t> counts;
  };
  std::uint64_t seed = 1;
  enum class Fate { ends, never_ends, breaks };
  std::function<Fate(std::size_t group, std::uint64_t sequence)> fate;  // of a sum; none: all end
  std::vector<Group> groups;
  std::atomic<int> hanging = 0;  // sums that hold streams up, or did

  SumGroupMaker maker();
};

class FakeSumGroup final : public SumGroup {
 public:
  FakeSumGroup(FakeSums& sums, std::size_t index, std::span<const LocalRank> ranks)
      : sums_(sums), index_(index), rng_(sums.seed + index, "sums") {
    for (const LocalRank& rank : ranks) {
      EXPECT_EQ(rank.rank, std::ssize(gpus_));
      gpus_.push_back(rank.device);
      cudaSetDevice(rank.device);
      EXPECT_EQ(cudaStreamCreate(&streams_.emplace_back()), cudaSuccess);
    }
    sums_.groups[index].gpus = gpus_;
    cudaSetDevice(gpus_[0]);
    if (sums.fate) begin_hold();
  }
  ~FakeSumGroup() override {
    abort("the group ends");
    for (const cudaStream_t stream : streams_) {
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    }
    if (holder_.joinable()) holder_.join();
    for (void* memory : memory_) cudaFree(memory);
  }

  void all_reduce(std::uint64_t sequence, std::span<const SumPart> parts, Timeout) override {
    check();
    FakeSums::Group& log = sums_.groups[index_];
    log.sequence.push_back(sequence);
    log.counts.push_back(parts[0].count);
    const std::vector<std::size_t> order = shuffled(parts.size());
    float* const total = room(parts[0].count);
    for (const std::size_t r : order) wait(streams_[0], gpus_[r], parts[r].stream);
    const FakeSums::Fate fate = sums_.fate ? sums_.fate(index_, sequence) : FakeSums::Fate::ends;
    if (fate == FakeSums::Fate::never_ends) hang();
    if (fate == FakeSums::Fate::breaks) abort("rank 1 broke");
    add(parts, total);
    // One rank is far behind the others.
    for (int i = 0; i < kLag; ++i)
      cudaLaunchHostFunc(
          streams_[order[0]], [](void*) {}, nullptr);
    for (const std::size_t r : order) {
      wait(streams_[r], gpus_[0], streams_[0]);
      copy(parts[r].receive, gpus_[r], total, parts[r].count, streams_[r]);
      wait(parts[r].stream, gpus_[r], streams_[r]);
    }
    for (std::size_t r = 1; r < parts.size(); ++r) wait(streams_[0], gpus_[r], streams_[r]);  // `total` is free again
  }

  void check() override {
    const std::lock_guard lock(mutex_);
    if (!broken_.empty()) throw Error(ErrorKind::io, broken_);
  }

  void abort(const std::string& why) noexcept override {
    const std::lock_guard lock(mutex_);
    if (broken_.empty()) broken_ = why;
    changed_.notify_all();
  }

 private:
  // The stand-in runs a function in any thread that waits for it; this one is held by a thread of the group, so that
  // others only wait, as they do for a GPU.
  static void hold(void* argument) {
    FakeSumGroup& group = *static_cast<FakeSumGroup*>(argument);
    std::unique_lock lock(group.mutex_);
    group.held_ = true;
    group.changed_.notify_all();
    group.changed_.wait(lock, [&] { return !group.broken_.empty(); });
  }
  void begin_hold() {
    cudaStreamCreate(&holds_);
    cudaLaunchHostFunc(holds_, hold, this);
    holder_ = std::thread([this] { cudaStreamSynchronize(holds_); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_; });
  }
  void hang() {
    wait(streams_[0], gpus_[0], holds_);
    ++sums_.hanging;
  }
  // In the order of the ranks.
  void add(std::span<const SumPart> parts, float* total) {
    cudaSetDevice(gpus_[0]);
    float* const one = total + parts[0].count;
    for (std::size_t r = 0; r < parts.size(); ++r) {
      copy(r == 0 ? total : one, gpus_[0], parts[r].send, parts[r].count, streams_[0], gpus_[r]);
      if (r > 0) kernels::add(total, one, static_cast<std::int64_t>(parts[r].count), streams_[0]);
    }
  }
  void copy(float* to, int to_gpu, const float* from, std::size_t count, cudaStream_t stream, int from_gpu = -1) {
    EXPECT_EQ(cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu < 0 ? gpus_[0] : from_gpu, count * sizeof(float), stream),
              cudaSuccess);
  }
  static void wait(cudaStream_t later, int gpu, cudaStream_t earlier) {
    cudaEvent_t event = nullptr;
    cudaSetDevice(gpu);
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, earlier), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(later, event), cudaSuccess);
    cudaEventDestroy(event);
  }
  // For a sum and one part of it, on the first rank's GPU.
  float* room(std::size_t count) {
    if (count > room_) {
      room_ = count;
      cudaSetDevice(gpus_[0]);
      EXPECT_EQ(cudaMalloc(&memory_.emplace_back(), 2 * count * sizeof(float)), cudaSuccess);
    }
    return static_cast<float*>(memory_.back());
  }
  std::vector<std::size_t> shuffled(std::size_t count) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < count; ++i)
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(rng_.below(i + 1)), i);
    return order;
  }

  static constexpr int kLag = 200;

  FakeSums& sums_;
  const std::size_t index_;
  Rng rng_;
  std::vector<int> gpus_;
  std::vector<cudaStream_t> streams_;  // by rank
  std::vector<void*> memory_;          // the last is in use
  std::size_t room_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  cudaStream_t holds_ = nullptr;
  std::thread holder_;
  bool held_ = false;
  std::string broken_;
};

inline SumGroupMaker FakeSums::maker() {
  return [this](std::span<const LocalRank> ranks) {
    groups.emplace_back();
    return std::make_unique<FakeSumGroup>(*this, groups.size() - 1, ranks);
  };
}

}  // namespace afore::device::cuda
