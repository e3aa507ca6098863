#pragma once
// How hidden states travel in a topology: how many rows of a target each port takes, and when they are there. Two
// implementations: between two pools of workers (device::SimLinks), and among ranks (device::AllToAll).
#include <memory>
#include <span>
#include <vector>

#include "device/sim/copy_traffic.h"
#include "host/sim_host.h"

namespace afore::host {

// Of one target.
struct TargetRows {
  std::vector<std::int64_t> sent, back;          // per attention worker
  std::vector<std::int64_t> received, returned;  // per FFN worker
};

class SimTransfers {
 public:
  virtual ~SimTransfers() = default;

  // `tokens` per attention worker; `pairs` (token, expert) per FFN worker, as the target's plan has them.
  virtual void count_rows(std::span<const std::int64_t> tokens, std::span<const std::int64_t> pairs,
                          TargetRows& rows) const = 0;
  // All attention workers have sent at `ready_ns`; fills `arrival_ns` per FFN worker.
  virtual void dispatch(Nanos ready_ns, const TargetRows& rows, std::vector<Nanos>& arrival_ns) = 0;
  // An FFN worker sends results; the return is when its port has sent them.
  virtual Nanos send_back(int worker, Nanos ready_ns, const TargetRows& rows) = 0;
  // All FFN workers have sent; fills `arrival_ns` per attention worker.
  virtual void arrive_back(Nanos last_start_ns, Nanos last_sent_ns, const TargetRows& rows,
                           std::vector<Nanos>& arrival_ns) = 0;
  // What is left of transfers on the two links that a copy takes, where it shares them.
  virtual Nanos ahead_of_copy(int from, int to, Nanos now_ns) const = 0;
  // From now on a transfer takes `factor` times as long (1 = as the cost model says).
  virtual void slow_down(double factor) = 0;
};

// `copies`: what else is on the links, nullptr where copies have links of their own. Outlives the transfers.
std::unique_ptr<SimTransfers> make_transfers(const SimOptions& options, device::CopyTraffic* copies);

}  // namespace afore::host
