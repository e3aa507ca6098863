#pragma once
// The two group transfers of a target, in virtual time: hidden states from all attention workers to all FFN workers
// (a2f) and results back (f2a). A transfer occupies its ports for latency + bytes / bandwidth, as a pipeline stage;
// transfers of one port are FIFO. Only rows a worker works on travel to it (routed dispatch); one row per (token, k)
// travels back. Formulas: docs/metrics.md "transfers".
#include <cstdint>
#include <span>
#include <vector>

#include "core/cost_model.h"
#include "device/sim/copy_traffic.h"

namespace afore::device {

class SimLinks {
 public:
  // `copies`: what else is on the FFN workers' links, nullptr where copies have links of their own. Outlives this.
  SimLinks(const PipelineCost& cost, int attention_workers, int ffn_workers, CopyTraffic* copies = nullptr);

  // What is left at `now_ns` of the last transfer on a worker's link.
  Nanos remaining_in(int worker, Nanos now_ns) const;
  Nanos remaining_out(int worker, Nanos now_ns) const;
  // From now on a transfer takes `factor` times as long (1 = as the cost model says).
  void slow_down(double factor) { slowdown_ = factor; }

  // All attention workers have sent at `ready_ns` (the last of them). `tokens` per attention worker (each token's row
  // leaves at most min(top_k, F) times), `rows` per FFN worker. Fills `arrival_ns` per FFN worker.
  void a2f(Nanos ready_ns, std::span<const std::int64_t> tokens, std::int64_t copies_per_token,
           std::span<const std::int64_t> rows, std::vector<Nanos>& arrival_ns);

  // An FFN worker sends its `rows` when it is done; the return is when its port has sent them.
  Nanos f2a_send(int worker, Nanos ready_ns, std::int64_t rows);
  // All FFN workers have sent: the last began at `last_start_ns` and was through at `last_sent_ns`. `rows` per
  // attention worker. Fills `arrival_ns` per attention worker.
  void f2a_arrive(Nanos last_start_ns, Nanos last_sent_ns, std::span<const std::int64_t> rows,
                  std::vector<Nanos>& arrival_ns);

 private:
  Nanos transfer_ns(std::int64_t rows, std::int64_t times = 1) const;
  Nanos wait_for_chunk(int worker, CopyTraffic::Way way, Nanos at_ns, Nanos duration_ns);

  PipelineCost cost_;
  CopyTraffic* copies_;
  double slowdown_ = 1;
  std::vector<Nanos> a_out_, a_in_, f_in_, f_out_;  // port free at
  std::vector<Nanos> f_in_ns_, f_out_ns_;           // how long the last transfer takes
};

}  // namespace afore::device
