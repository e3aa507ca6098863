#include "host/sim_transfers.h"

#include <algorithm>
#include <numeric>

#include "device/sim/all_to_all.h"
#include "device/sim/links.h"
#include "util/error.h"

namespace afore::host {
namespace {

std::int64_t sum(std::span<const std::int64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

class BetweenPools final : public SimTransfers {
 public:
  BetweenPools(const SimOptions& o, device::CopyTraffic* copies)
      : links_(o.pipeline_cost, static_cast<int>(o.cluster.attention_workers), static_cast<int>(o.cluster.ffn_workers),
               copies),
        broadcast_(o.dispatch == Dispatch::broadcast),
        copies_per_token_(broadcast_ ? o.cluster.ffn_workers
                                     : std::min<std::int64_t>(o.model.top_k, o.cluster.ffn_workers)) {}

  void count_rows(std::span<const std::int64_t> tokens, std::span<const std::int64_t> pairs,
                  TargetRows& rows) const override {
    const std::int64_t all_tokens = sum(tokens), all_pairs = sum(pairs);
    rows.sent.assign(tokens.begin(), tokens.end());
    rows.back.resize(tokens.size());
    for (std::size_t a = 0; a < tokens.size(); ++a)
      rows.back[a] = all_tokens > 0 ? tokens[a] * all_pairs / all_tokens : 0;
    rows.returned.assign(pairs.begin(), pairs.end());
    if (broadcast_) rows.received.assign(pairs.size(), all_tokens);
    else rows.received = rows.returned;
  }
  void dispatch(Nanos ready_ns, const TargetRows& rows, std::vector<Nanos>& arrival_ns) override {
    links_.a2f(ready_ns, rows.sent, copies_per_token_, rows.received, arrival_ns);
  }
  Nanos send_back(int worker, Nanos ready_ns, const TargetRows& rows) override {
    return links_.f2a_send(worker, ready_ns, rows.returned[worker]);
  }
  void arrive_back(Nanos last_start_ns, Nanos last_sent_ns, const TargetRows& rows,
                   std::vector<Nanos>& arrival_ns) override {
    links_.f2a_arrive(last_start_ns, last_sent_ns, rows.back, arrival_ns);
  }
  Nanos ahead_of_copy(int from, int to, Nanos now_ns) const override {
    return std::max(links_.remaining_out(from, now_ns), links_.remaining_in(to, now_ns));
  }
  void slow_down(double factor) override { links_.slow_down(factor); }

 private:
  device::SimLinks links_;
  bool broadcast_;
  std::int64_t copies_per_token_;
};

class AmongRanks final : public SimTransfers {
 public:
  AmongRanks(const SimOptions& o, device::CopyTraffic* copies)
      : links_(o.pipeline_cost, static_cast<int>(o.cluster.ffn_workers), copies) {}

  void count_rows(std::span<const std::int64_t> tokens, std::span<const std::int64_t> pairs,
                  TargetRows& rows) const override {
    device::TravellingRows travelling;
    device::count_travelling(tokens, pairs, travelling);
    rows.sent = rows.back = std::move(travelling.out);
    rows.received = rows.returned = std::move(travelling.in);
  }
  void dispatch(Nanos ready_ns, const TargetRows& rows, std::vector<Nanos>& arrival_ns) override {
    links_.dispatch(ready_ns, rows.sent, rows.received, arrival_ns);
  }
  Nanos send_back(int worker, Nanos ready_ns, const TargetRows& rows) override {
    return links_.combine_send(worker, ready_ns, rows.returned[worker]);
  }
  void arrive_back(Nanos last_start_ns, Nanos last_sent_ns, const TargetRows& rows,
                   std::vector<Nanos>& arrival_ns) override {
    links_.combine_arrive(last_start_ns, last_sent_ns, rows.back, arrival_ns);
  }
  Nanos ahead_of_copy(int from, int to, Nanos now_ns) const override {
    return std::max(links_.remaining_out(from, now_ns), links_.remaining_in(to, now_ns));
  }
  // Faults, which alone change it, are of the other topology.
  void slow_down(double factor) override { AFORE_CHECK(factor == 1, "links of ranks do not slow down"); }

 private:
  device::AllToAll links_;
};

}  // namespace

std::unique_ptr<SimTransfers> make_transfers(const SimOptions& options, device::CopyTraffic* copies) {
  if (options.topology == Topology::afd) return std::make_unique<BetweenPools>(options, copies);
  AFORE_CHECK(options.cluster.attention_workers == options.cluster.ffn_workers,
              "ranks have as many attention as FFN workers");
  AFORE_CHECK(options.faults.empty() && options.dispatch == Dispatch::routed,
              "ranks have neither faults nor a broadcast");
  return std::make_unique<AmongRanks>(options, copies);
}

}  // namespace afore::host
