#pragma once
// Transfers on this machine: a worker is an arena in host memory, a port is a thread that copies, and each worker that
// computes has a thread of its own (and a pool, for more than one), as the FFN workers of afore-serve run.
#include <memory>
#include <vector>

#include "device/cpu/kernels.h"
#include "device/cpu/thread_pool.h"
#include "device/transfers.h"
#include "host/threads/clock.h"
#include "migrate/arena.h"

namespace afore::host {

class HostTransfers final : public device::Transfers {
 public:
  explicit HostTransfers(const device::TransferOptions& options);
  ~HostTransfers() override;

  int workers() const override { return options_.workers; }
  std::vector<device::CopyPath> paths() const override { return {device::CopyPath::host}; }
  device::DeviceInfo info(device::CopyPath path) const override;
  std::int64_t available_bytes(device::CopyPath path) const override;
  void reserve(device::CopyPath path, std::int64_t bytes_per_worker) override;
  std::int64_t cut(std::int64_t slot_bytes) override;
  std::int64_t stride_bytes(std::int64_t slot_bytes) const override;
  void fill(int worker, std::int64_t slot, std::uint64_t seed, PatternKind kind) override;
  void clear(int worker, std::int64_t slot) override;
  std::int64_t count_wrong(int worker, std::int64_t slot, std::uint64_t seed, PatternKind kind, int from,
                           std::int64_t from_slot) const override;
  std::optional<std::vector<std::vector<double>>> time_rounds(std::span<const device::CopyPort> ports,
                                                              const device::CopyRounds& rounds) override;
  std::int64_t tile_tokens() const override;
  std::int64_t expert_bytes(const device::ExpertSizes& sizes) const override;
  int compute_threads() const override { return options_.workers * options_.worker_threads; }
  void prepare_ffn(const device::ExpertSizes& sizes, int most_experts, std::int64_t most_rows,
                   std::uint64_t seed) override;
  device::MixTimes run(const device::Mix& mix) override;

  migrate::Arena& arena(int worker) { return arenas_[static_cast<std::size_t>(worker)]; }

 private:
  struct Worker {  // what it computes with
    std::unique_ptr<device::cpu::ThreadPool> pool;
    device::cpu::Scratch scratch;
    std::vector<float> x, y;
    std::vector<const float*> x_rows;
    std::vector<float*> y_rows;
    std::vector<device::cpu::ExpertRows> experts;
  };
  bool stopped() const { return options_.stop != nullptr && *options_.stop != 0; }
  void copy_rounds(const device::CopyPort& port, const device::CopyRounds& rounds, std::vector<double>& times_us);
  void lay_out(int worker, const device::Mix& mix);
  void send(const device::CopyPort& port, const device::Mix& mix, const WallClock& clock, device::MixTimes& times);

  device::TransferOptions options_;
  const device::cpu::Kernels& kernels_;
  std::vector<migrate::Arena> arenas_;
  device::cpu::ExpertShape shape_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace afore::host
