#pragma once
// Transfers between GPUs, or within one. On d2d all workers share the first GPU; on peer and nccl each has one of its
// own. A worker's copies are on a stream of its GPU, its FFN on another, and on SMs of its own where the GPU is split;
// how bytes travel is the route's. Times are of events, on the clock of the GPU where they happen.
#include <memory>
#include <vector>

#include "device/cuda/copy_route.h"
#include "device/cuda/gpus.h"
#include "device/cuda/start_gate.h"
#include "device/transfers.h"

namespace afore::device::cuda {

class CudaTransfers final : public Transfers {
 public:
  // `make_nccl` is null where NCCL is not compiled in: there is no path nccl then.
  CudaTransfers(const FoundGpus& gpus, const TransferOptions& options, CopyRouteMaker make_nccl);
  ~CudaTransfers() override;

  int workers() const override { return options_.workers; }
  std::vector<CopyPath> paths() const override;
  std::string why_not(CopyPath path) const override;
  DeviceInfo info(CopyPath path) const override;
  std::int64_t available_bytes(CopyPath path) const override;
  void reserve(CopyPath path, std::int64_t bytes_per_worker) override;
  std::int64_t cut(std::int64_t slot_bytes) override;
  std::int64_t stride_bytes(std::int64_t slot_bytes) const override;
  void fill(int worker, std::int64_t slot, std::uint64_t seed, PatternKind kind) override;
  void clear(int worker, std::int64_t slot) override;
  std::int64_t count_wrong(int worker, std::int64_t slot, std::uint64_t seed, PatternKind kind, int from,
                           std::int64_t from_slot) const override;
  std::optional<std::vector<std::vector<double>>> time_rounds(std::span<const CopyPort> ports,
                                                              const CopyRounds& rounds) override;
  std::int64_t tile_tokens() const override;
  std::int64_t expert_bytes(const ExpertSizes& sizes) const override;
  int compute_threads() const override { return 0; }
  void prepare_ffn(const ExpertSizes& sizes, int most_experts, std::int64_t most_rows, std::uint64_t seed) override;
  MixTimes run(const Mix& mix) override;

 private:
  struct Worker;  // its arena, streams and FFN
  struct Sent {   // to one receiver, on the clock of the sender's GPU
    int from = 0, to = 0;
    std::shared_ptr<Event> begin;  // of the port
    std::unique_ptr<Event> end;
  };
  Worker& worker(int index) const { return *workers_[static_cast<std::size_t>(index)]; }
  int gpu_of(CopyPath path, int worker) const;
  std::byte* slot(int worker, std::int64_t slot) const;
  void send_together(std::span<const CopyPort> ports, std::size_t place, std::int64_t from_slot, std::int64_t to_slot);
  void send(const Mix& mix, StartGate::Shut& gate, std::vector<Sent>& sent);
  void mark_arrival(Sent& one);
  void wait_for_all() const;

  FoundGpus gpus_;
  TransferOptions options_;
  CopyRouteMaker make_nccl_;
  Partitions partitions_;  // of the first GPU, for d2d
  std::int64_t arena_bytes_ = 0, slot_bytes_ = 0;
  ExpertSizes sizes_;
  StartGate gate_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<CopyRoute> route_;  // between their lanes
};

}  // namespace afore::device::cuda
